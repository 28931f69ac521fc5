# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/reporter"
require "penstock/producer/settings"

# A listener ends the thread that calls it. (With a client: test/native/producer/ended_listener_test.rb.)
class ProducerReporterTest < Penstock::TestCase
  # A closed client with these reports.
  class Client
    attr_reader :waits

    def initialize(rows)
      @rows = rows
      @waits = Queue.new
    end

    def want(mask)
    end

    def wait_for_reports(_timeout_ms)
      @waits << Thread.current
      @rows.any?
    end

    def take_reports(max) = @rows.shift(max)

    def poll_event
    end
  end

  def setup
    @settings = Penstock::Producer::Settings.new
    @settings.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @heard = Queue.new
  end

  def failed(offset) = [nil, -192, "orders", 0, offset, nil, :not]

  def delivered(offset) = [nil, 0, "orders", 0, offset, 1, :persisted]

  # @return [Penstock::Producer::Reporter] whose thread was ended by the first listener that it called
  def ended(client, event, always: false)
    @settings.monitor.subscribe(event) do |told|
      @heard << told[:type]
      Thread.exit if always || @heard.size == 1
    end
    Penstock::Producer::Reporter.new(client, @settings).tap do |reporter|
      wait_until(40, "an ended thread") { !reporter.thread.alive? }
    end
  end

  # A client that takes its time to learn which reports are wanted.
  class SlowClient < Client
    attr_reader :asked, :go

    def initialize
      super([])
      @asked, @go = Queue.new, Queue.new
    end

    def want(mask)
      @asked << mask
      @go.pop
    end
  end

  test "it is stale until the client knows of a new listener: another thread's messages would have no reports" do
    client = SlowClient.new
    reporter = Penstock::Producer::Reporter.new(client, @settings)
    @settings.monitor.subscribe("message.acknowledged") { nil }
    refreshing = Thread.new { reporter.refresh }
    client.asked.pop

    assert_predicate reporter, :stale?
    client.go << true
    refreshing.join
    refute_predicate reporter, :stale?
  end

  test "a listener that always ends the reporter's thread still gets every error, and a close returns" do
    reporter = ended(Client.new(Array.new(5) { |offset| failed(offset) }), "error.occurred", always: true)
    closing = Thread.new { reporter.join(40_000) }

    assert closing.join(20 * Penstock::TestSupport::Wait::TIME_FACTOR), "a close goes round and round"
    types = Array.new(@heard.size) { @heard.pop }
    assert_equal 5, types.count("librdkafka.dispatch_error")
    assert_operator types.count("producer.reporter.error"), :>, 0
  ensure
    closing.kill
  end

  test "two concurrent joins start one replacement of an ended thread" do
    client = Client.new(Array.new(5) { |offset| delivered(offset) })
    reporter = ended(client, "message.acknowledged")
    lock = reporter.instance_variable_get(:@lock)
    closing = lock.synchronize do
      threads = Array.new(2) { Thread.new { reporter.join(40_000) } }
      wait_until(40, "both want to start it") { threads.all?(&:stop?) }
      threads
    end
    closing.each(&:join)

    assert_equal 5, @heard.size
    assert_equal 2, Array.new(client.waits.size) { client.waits.pop }.uniq.size
  end
end
