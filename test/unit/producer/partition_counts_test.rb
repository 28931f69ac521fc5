# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/partition_counts"
require "support/virtual_clock"

class ProducerPartitionCountsTest < Penstock::TestCase
  def setup
    @clock = VirtualClock.new
    @counts = Penstock::Producer::PartitionCounts.new(clock: @clock)
    @asked = 0
  end

  def ask(answer)
    @counts.fetch("orders") do
      @asked += 1
      answer.respond_to?(:call) ? answer.call : answer
    end
  end

  def count(answer) = ask(answer).count

  test "a topic is missing if the cluster has answered so, not if it hasn't answered or has just created the topic" do
    errors = %i[unknown_topic_or_part timed_out].map { |code| -> { raise Penstock::KafkaError.new(code: code) } }
    answers = [*errors, 0, 6]

    missing = answers.map do |answer|
      @clock.advance(30_000)
      ask(answer).missing
    end
    assert_equal [true, false, false, false], missing
  end

  test "a count is kept for 30 seconds" do
    assert_equal [6, 6], [count(6), count(7)]
    @clock.advance(30_000)
    assert_equal 7, count(7)
    assert_equal 2, @asked
  end

  test "[partition_count missing] an unknown count is -1 and isn't queried again at once" do
    missing = -> { raise Penstock::KafkaError.new(code: :unknown_topic_or_part) }

    assert_equal [-1, -1, -1], Array.new(3) { count(missing) }
    assert_equal 1, @asked
    @clock.advance(30_000)
    assert_equal(-1, count(0))
  end

  test "a client that sends nothing is queried on the calling thread" do
    client = Class.new(Penstock::Producer::DryClient) { def query_partitions(*) = Thread.current }.new

    assert_same Thread.current, Penstock::Producer::PartitionCounts.query(client, "orders")
  end

  test "errors that aren't Kafka's are raised to the caller" do
    assert_raises(Penstock::ForkedHandleError) { count(-> { raise Penstock::ForkedHandleError }) }
  end
end
