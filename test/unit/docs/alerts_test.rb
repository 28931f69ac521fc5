# frozen_string_literal: true

require "test_helper"
require "yaml"
require "support/promtool"

# The rules of docs/alerts.md, evaluated by Prometheus' own promtool over an hour of values, one a minute.
class AlertsTest < Penstock::TestCase
  PAGE = File.read(File.expand_path("../../../docs/alerts.md", __dir__), encoding: "UTF-8")
  TEXT = PAGE[/^```yaml\n(groups:.*?)^```/m, 1]
  RULES = YAML.safe_load(TEXT).dig("groups", 0, "rules")
  LAG = 'penstock_consumer_lag_messages{group="shop",topic="orders",partition="0"}'
  BREAKERS = 'penstock_consumer_breakers_open{topic="orders"}'
  READY = 'penstock_ready{instance="a:3000",job="penstock"}'
  UP = 'up{instance="a:3000",job="penstock"}'
  NODE_UP = 'penstock_swarm_node_up{node="1"}'
  LETTERS = 'penstock_consumer_dead_letters_total{topic="orders"}'
  SKIPPED = 'penstock_consumer_skipped_messages_total{topic="orders"}'
  UNDELIVERED, QUEUE_FULL = "penstock_producer_undelivered_messages_total", "penstock_producer_queue_full_total"
  DISPATCH = 'penstock_errors_total{topic="orders",type="librdkafka.dispatch_error",error="Penstock::KafkaError"}'
  OTHER_ERROR = 'penstock_errors_total{topic="orders",type="consumer.consume.error",error="KeyError"}'
  OUTBOX = 'penstock_outbox_oldest_age_seconds{table="outbox"}'
  # By alert: a series with the values of an hour, and after how many minutes it fires (nil: it doesn't, after 40
  # minutes or as many as are given).
  CASES = {
    "LagGrows" => [
      [LAG, "20000+100x60", 40], [LAG, "20000+0x60", nil], [LAG, "90000-1000x60", nil], [LAG, "0+100x60", nil],
      [LAG, "20000+100x60", nil, 5]
    ],
    "RecordsGivenUp" => [
      [LETTERS, "3x30 4x30", 35], [LETTERS, "_x30 1x30", 35], [LETTERS, "1x60", nil], [LETTERS, "3x30 4x30", nil, 55],
      [SKIPPED, "_x30 1x30", 35], [SKIPPED, "3x30 4x30", 35]
    ],
    "TopicHeld" => [[BREAKERS, "1x60", 40], [BREAKERS, "1x60", nil, 4], [BREAKERS, "0x60", nil]],
    "ProcessNotReady" => [
      [READY, "1x20 0x40", 40], [READY, "1x60", nil], [READY, "1x36 0x3 1x20", nil], [NODE_UP, "1x20 0x40", 40],
      [UP, "1x20 0x40", 40]
    ],
    "MessagesNotDelivered" => [
      [UNDELIVERED, "0x30 2x30", 35], [QUEUE_FULL, "0x30 1x30", 35], [OUTBOX, "301x60", 40], [OUTBOX, "30x60", nil],
      [UNDELIVERED, "2x60", nil], [DISPATCH, "_x30 5x30", 35], [DISPATCH, "1x30 2x30", 35], [DISPATCH, "5x60", nil],
      [OTHER_ERROR, "_x30 5x30", nil]
    ]
  }.freeze

  # The labels of an alert: those of its series, or those by which the rule adds up.
  def labels(rule, series)
    all = series.scan(/(\w+)="([^"]+)"/).to_h
    kept = rule.fetch("expr")[/\Asum by \(([a-z, ]+)\)/, 1]
    kept ? all.slice(*kept.split(", ")) : all
  end

  # `4x30` stands for 31 values.
  def values(text) = text.split.map { |part| part.sub(/\A(\d+|_)x(\d+)\z/) { ([$1] * $2.to_i).join(" ") } }.join(" ")

  test "[alerts] each of the five alerts is explained, has a query for Datadog, and is a rule that Prometheus accepts" do
    names = RULES.map { |rule| rule.fetch("alert") }

    assert_equal CASES.keys, names
    assert_equal names, PAGE.scan(/^## (\w+)$/).flatten
    assert_equal names, PAGE.scan(/^\| (\w+) \| `[^`]*penstock_/).flatten
    assert_empty Penstock::TestSupport::Promtool.problems_of_rules(TEXT)
  end

  test "[alerts] each alert fires when it should, and not otherwise" do
    Penstock::TestSupport::Promtool.require!(self)
    tests = RULES.flat_map do |rule|
      CASES.fetch(rule.fetch("alert")).map do |series, text, fires, quiet = 40|
        {interval: "1m", input_series: [{series: series, values: values(text)}],
         alert_rule_test: [{eval_time: "#{fires || quiet}m", alertname: rule.fetch("alert"),
                            exp_alerts: fires ? [{exp_labels: labels(rule, series)}] : []}]}
      end
    end

    assert_equal "", Penstock::TestSupport::Promtool.failures_of_rules(TEXT, tests).join("\n")
  end
end
