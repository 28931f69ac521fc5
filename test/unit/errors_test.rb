# frozen_string_literal: true

require "test_helper"
require "penstock/errors"

class ErrorsTest < Penstock::TestCase
  test "every error carries the tag, so one rescue catches all" do
    errors = Penstock.constants.map { |name| Penstock.const_get(name) }
      .select { |constant| constant.is_a?(Class) && constant <= StandardError }

    assert_operator errors.size, :>, 15
    assert_empty(errors.reject { |error| error.include?(Penstock::Error) })
  end

  test "[all errors listed] two bad keys appear in one message" do
    error = Penstock::ConfigurationError.new([
      Penstock::Problem.new("config.concurrency", "must be at least 1", "Set 5"),
      Penstock::Problem.new("config.client_id", "is empty")
    ])

    assert_equal <<~TEXT.chomp, error.message
      The configuration has 2 problems:
        1. config.concurrency: must be at least 1. Set 5
        2. config.client_id: is empty
    TEXT
  end

  test "one problem is one line" do
    assert_equal "config.kafka: is empty",
      Penstock::ConfigurationError.new(Penstock::Problem.new("config.kafka", "is empty")).message
  end

  test "the class of a Kafka error shows what can be done" do
    assert_instance_of Penstock::RetriableError, build("_TRANSPORT", retriable: true)
    assert_instance_of Penstock::FatalError, build("INVALID_PRODUCER_EPOCH", fatal: true, retriable: true)
    assert_instance_of Penstock::FencedError, build("_FENCED", fatal: true)
    assert_instance_of Penstock::QueueFullError, build("_QUEUE_FULL")
    assert_instance_of Penstock::KafkaError, build("TOPIC_AUTHORIZATION_FAILED")
  end

  test "the code of a Kafka error is its name without underscore in front" do
    error = build("_MSG_TIMED_OUT")

    assert_equal :msg_timed_out, error.code
    assert_equal(-192, error.number)
    assert_equal "text (msg_timed_out)", error.message
  end

  test "a broker's text is valid text, even if the broker sent invalid bytes" do
    error = Penstock::KafkaError.build(number: 1, name: "X", message: "no\xFF".b)

    assert_equal ['no\xFF (x)', 'no\xFF'], [error.message, error.broker_message]
    assert_nil Penstock::KafkaError.build(number: 1, name: "X").broker_message
  end

  test "a deserialization error names its record and quotes little of it" do
    error = Penstock::DeserializationError.new(topic: "orders", partition: 3, offset: 42,
      reason: RuntimeError.new("\xFF#{"x" * 500}"))

    assert_match(%r{\Aorders/3 at offset 42: the payload can't be deserialized: RuntimeError: \\xFFx+… \(501 bytes\)\z},
      error.message)
    assert_operator error.message.length, :<, 200
  end

  test "an interrupt isn't caught by a rescue of standard errors" do
    caught = begin
      begin
        raise Penstock::Interrupted
      rescue => error
        "as #{error.class}"
      end
    rescue Exception # rubocop:disable Lint/RescueException -- that is the point of the test
      "outside"
    end

    assert_equal "outside", caught
  end

  test "native code may raise the simple ones with a text" do
    [Penstock::WaitTimeoutError, Penstock::ForkedHandleError, Penstock::HandleClosedError, Penstock::ProduceError,
      Penstock::KafkaError, Penstock::LaneDiscontinuity].each do |error|
      assert_match(/\Atext/, error.new("text").message)
    end
  end

  private

  def build(name, **flags)
    Penstock::KafkaError.build(number: -192, name: name, message: "text", **flags)
  end
end
