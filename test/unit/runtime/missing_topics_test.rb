# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/missing_topics"
require_relative "../../support/virtual_clock"

class MissingTopicsTest < Penstock::TestCase
  Group = Struct.new(:consumer_group) do
    def topic_for(_name) = nil
  end
  Reporter = Struct.new(:events) do
    def emit(name, payload) = events << [name, payload]
  end

  def setup
    @reporter = Reporter.new([])
    @clock = VirtualClock.new
    @missing = Penstock::Runtime::MissingTopics.new(Group.new(Struct.new(:id).new("app")), @reporter, @clock)
  end

  test "a missing topic is reported once by topic check and client together, until it has existed again" do
    2.times { @missing.report("orders") }
    assert_equal [["connection.topic", "orders", false]],
      @reporter.events.map { |name, payload| [name, payload[:topic], payload[:exists]] }

    @missing.found("orders")
    @missing.report("orders")
    assert_equal 2, @reporter.events.size
  end

  test "a pattern that matches nothing isn't reported" do
    @missing.report("^aud.*")

    assert_empty @reporter.events
    assert_nil @missing.reported_at
    assert_empty @missing.names
  end

  test "the missing topics and the time of the last report are known" do
    @missing.report("orders")
    @missing.report("clicks")
    @missing.found("orders")

    assert_equal [["clicks"], @clock.monotonic_ms], [@missing.names, @missing.reported_at]
  end
end
