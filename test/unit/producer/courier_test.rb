# frozen_string_literal: true

require "test_helper"
require "penstock/producer/courier"

class ProducerCourierTest < Penstock::TestCase
  Courier = Penstock::Producer::Courier

  def done(*handles)
    wait_until(5, "resolved handles") { handles.all?(&:done?) }
    handles.map(&:create_result)
  end

  test "what comes while others are on their way is sent together behind them" do
    batches = Queue.new
    go_on = Queue.new
    courier = Courier.new { |messages| (batches << messages) && go_on.pop && messages.map(&:upcase) }
    first = courier.take("a")
    assert_equal ["a"], batches.pop
    others = %w[b c].map { |message| courier.take(message) }

    refute_predicate first, :done?
    2.times { go_on << true }
    assert_equal %w[A B C], done(first, *others)
    assert_equal %w[b c], batches.pop
  end

  test "an error is that of all that were sent together, and of none behind" do
    fails = [true]
    courier = Courier.new { |messages| fails.pop ? raise(ArgumentError, "no") : messages }

    assert_kind_of ArgumentError, done(courier.take("a")).first.error
    assert_equal ["b"], done(courier.take("b"))
  end
end
