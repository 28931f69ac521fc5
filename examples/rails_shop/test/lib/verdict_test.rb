# frozen_string_literal: true

require "minitest/autorun"
require_relative "../../lib/rails_shop/verdict"

# `bin/shop --check` finds what is wrong.
class VerdictTest < Minitest::Test
  PLACED = [{"id" => 1, "total" => 100}, {"id" => 2, "total" => 200}].freeze

  def event(id, outcome = "charged") = {"order_id" => id, "key" => "ada", "outcome" => outcome}

  def history(**more)
    {"orders" => PLACED, "payments" => [{"order_id" => 1}, {"order_id" => 2}], "events" => [event(1), event(2)],
     "jobs" => [1, 2].map { |id| {"order_id" => id, "outcome" => "mailed"} },
     "mails" => [1, 2].map { |id| {"message_id" => "receipt-#{id}@shop.example"} },
     "totals" => {"ordered" => 300, "paid" => 300, "mailed" => 300}, "waiting" => 0}.merge(more.transform_keys(&:to_s))
  end

  def problems(**more) = RailsShop::Verdict.new(PLACED, history(**more)).problems

  def test_nothing_is_wrong
    assert_empty problems
    assert_predicate RailsShop::Verdict.new(PLACED, history), :finished?
  end

  def test_a_redelivered_record_is_no_problem
    verdict = RailsShop::Verdict.new(PLACED, history(events: [event(1), event(1, "redelivered"), event(2)]))

    assert_empty verdict.problems
    assert_equal 1, verdict.redelivered.size
  end

  def test_lost
    assert_equal ["orders: missing for order 2 (1 in all)"], problems(orders: PLACED.first(1))
    assert_equal ["payments: missing for order 1 (1 in all)"], problems(payments: [{"order_id" => 2}])
    assert_equal ["mails: missing for order 1, 2 (2 in all)"], problems(mails: [])
    refute_predicate RailsShop::Verdict.new(PLACED, history(jobs: [])), :finished?
    refute_predicate RailsShop::Verdict.new(PLACED, history(waiting: 1)), :finished?
  end

  def test_twice
    assert_equal ["mails: more than one for order 2 (1 in all)"],
      problems(mails: [1, 2, 2].map { |id| {"message_id" => "receipt-#{id}@shop.example"} })
    assert_equal ["payments: more than one for order 1 (1 in all)"], problems(payments: [1, 1, 2].map { |id| {"order_id" => id} })
  end

  def test_wrong_sum
    assert_equal ["sums: orders of 300 cents were placed, 400 paid"],
      problems(totals: {"ordered" => 300, "paid" => 400, "mailed" => 300})
  end

  def test_out_of_order
    assert_equal ["order: the orders of ada were charged out of order"], problems(events: [event(2), event(1)])
  end
end
