# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/error_throttle"

class ClientErrorsTest < Penstock::TestCase
  REFUSED = "127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"
  HUNG_UP = "127.0.0.1:1/bootstrap: Disconnected: connection closed by peer (after 3ms in state APIVERSION_QUERY)"
  DENIED = "127.0.0.1:1/bootstrap: SASL authentication error: no (after 3ms in state AUTH_REQ)"

  def setup
    @errors = Penstock::Instrumentation::ErrorThrottle.new
  end

  test "one outage is one line, repeated every 30 s with the number of attempts" do
    told = (0..60_000).step(50).filter_map do |now|
      @errors.line(3, "FAIL", "[thrd:x]: #{REFUSED}", now)
      [tell("_TRANSPORT", REFUSED, now), tell("_ALL_BROKERS_DOWN", "1/1 brokers are down", now)].compact.first
    end

    assert_equal [1, 600, 600], told.map(&:count)
    assert_equal [:transport], told.map { |one| one.error.code }.uniq
  end

  test "another step of the same outage is another line" do
    assert_equal [1, 1, nil], [tell("_TRANSPORT", REFUSED, 0), tell("_AUTHENTICATION", DENIED, 10),
      tell("_AUTHENTICATION", DENIED, 20)].map { |told| told&.count }
  end

  test "a broker that disconnects is reported at the second report that all brokers are down, with its log line" do
    @errors.line(6, "FAIL", "[thrd:127.0.0.1:1/bootstrap]: #{HUNG_UP}", 0)

    assert_nil tell("_ALL_BROKERS_DOWN", "1/1 brokers are down", 0)
    assert_equal HUNG_UP, tell("_ALL_BROKERS_DOWN", "1/1 brokers are down", 10_000).error.broker_message
  end

  test "a stopped broker is reported by the next attempt to connect, each time it is stopped" do
    [0, 3_600_000].each do |now|
      @errors.line(6, "FAIL", HUNG_UP, now)

      assert_nil tell("_ALL_BROKERS_DOWN", "1/1 brokers are down", now)
      assert_equal 1, tell("_TRANSPORT", REFUSED, now + 100).count
    end
  end

  test "a repeated request for a producer id is no warning, a refused one is" do
    text = "Failed to acquire idempotence PID from broker 127.0.0.1:9092/1: Broker:"

    assert_equal 7, @errors.line(4, "GETPID", "#{text} Coordinator load in progress: retrying", 0)
    assert_equal 4, @errors.line(4, "GETPID", "#{text} Cluster authorization failed: retrying", 0)
  end

  test "the last failed connection is known, reported or not" do
    assert_nil @errors.diagnosis
    @errors.line(6, "FAIL", "[thrd:x]: #{HUNG_UP}", 0)

    assert_equal ["127.0.0.1:1", "Kafka"], [@errors.diagnosis.server, @errors.diagnosis.step]
  end

  test "all brokers down without a known reason is reported as it is" do
    assert_equal "2/2 brokers are down", tell("_ALL_BROKERS_DOWN", "2/2 brokers are down", 0).error.broker_message
  end

  test "the end of a partition is no error" do
    assert_nil tell("_PARTITION_EOF", "end", 0)
  end

  test "errors that differ only in numbers are the same" do
    assert_equal [1, nil], ["lag 1", "lag 2"].map { |text| tell("_FAIL", text, 0)&.count }
    assert_equal 1, tell("_FAIL", "something else", 0).count
  end

  test "the library's log lines are logged once in 30 s; connection lines at debug level, because the error reports them" do
    assert_equal [7, nil, 7], [0, 50, 30_000].map { |now| @errors.line(3, "FAIL", REFUSED.sub("0ms", "#{now}ms"), now) }
    assert_equal [4, nil], [@errors.line(4, "MAXPOLL", "too slow", 0), @errors.line(4, "MAXPOLL", "too slow", 1)]
  end

  private

  def tell(code, message, now)
    @errors.count(Penstock::KafkaError.build(number: -1, name: code, message: message), now)
  end
end
