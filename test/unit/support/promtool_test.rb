# frozen_string_literal: true

require "test_helper"
require "support/promtool"

class PromtoolTest < Penstock::TestCase
  Promtool = Penstock::TestSupport::Promtool

  def setup
    super
    Promtool.require!(self)
  end

  test "a correct scrape has no problems, a label without its quotation mark is one" do
    text = "# HELP calls_total Number of calls.\n# TYPE calls_total counter\ncalls_total{topic=\"orders\"} 3\n"

    assert_empty Promtool.problems(text)
    assert_match(/parsing error/, Promtool.problems(text.sub("orders\"", "orders")).join)
  end

  test "a correct rule has no problems, an expression that can't be read is one" do
    rules = "groups: [{name: one, rules: [{alert: Late, expr: 'lag > 1'}]}]\n"

    assert_empty Promtool.problems_of_rules(rules)
    refute_empty Promtool.problems_of_rules(rules.sub("lag > 1", "lag >"))
  end

  test "rules are evaluated: an alert that doesn't fire, or fires without being expected, is a failure" do
    rules = "groups: [{name: one, rules: [{alert: Late, expr: 'lag > 1'}]}]\n"
    expecting = lambda do |value, *alerts|
      [{interval: "1m", input_series: [{series: "lag", values: value.to_s}],
        alert_rule_test: [{eval_time: "0m", alertname: "Late", exp_alerts: alerts}]}]
    end

    assert_empty Promtool.failures_of_rules(rules, expecting.call(2, {exp_labels: {}}))
    refute_empty Promtool.failures_of_rules(rules, expecting.call(1, {exp_labels: {}}))
    refute_empty Promtool.failures_of_rules(rules, expecting.call(2))
  end
end
