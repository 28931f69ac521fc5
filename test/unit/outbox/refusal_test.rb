# frozen_string_literal: true

require "test_helper"
require "penstock/outbox"
require "penstock/outbox/refusal"

class OutboxRefusalTest < Penstock::TestCase
  test "an error concerns the record, the topic, the relay itself, or is only a delay" do
    {kafka(:msg_size_too_large) => :record, kafka(:topic_authorization_failed) => :topic, kafka(:msg_timed_out) => :stuck,
     kafka(:transport) => :stuck, Penstock::MessageInvalidError.new("x") => :record,
     Penstock::MessageTooLargeError.new("x") => :record,
     Penstock::ProducerClosedError.new("x") => :own, Penstock::ForkedHandleError.new("x") => :own}.each do |error, meaning|
      assert_equal meaning, Penstock::Outbox::Refusal.of(error), error.inspect
    end
  end

  test "an error that isn't Kafka's, as one of a producer's middleware, is only a delay" do
    errors = [Errno::ECONNREFUSED.new("key service"), ArgumentError.new("x"), KeyError.new("x"), produce_error(IOError.new("x"))]
    errors.each { |error| assert_equal :stuck, Penstock::Outbox::Refusal.of(error), error.inspect }
  end

  test "an error raised by produce_async is classified by its cause" do
    assert_equal :record, Penstock::Outbox::Refusal.of(produce_error(Penstock::MessageTooLargeError.new("x")))
    assert_equal :record, Penstock::Outbox::Refusal.of(produce_error(kafka(:msg_size_too_large)))
    assert_equal :stuck, Penstock::Outbox::Refusal.of(produce_error(Penstock::QueueFullError.new))
    assert_equal :stuck, Penstock::Outbox::Refusal.of(produce_error(Penstock::WaitTimeoutError.new("x")))
  end

  test "every code is known to the client library" do
    require "penstock/native"
    known = Penstock::Native.error_numbers.keys.map { |name| Penstock::KafkaError.code_of(name) }

    assert_empty [*Penstock::Outbox::Refusal::RECORD, *Penstock::Outbox::Refusal::TOPIC] - known
  end

  private

  def kafka(code) = Penstock::KafkaError.new("no", code: code)

  def produce_error(cause)
    raise cause
  rescue
    begin
      raise Penstock::ProduceError, "orders: no"
    rescue => error
      error
    end
  end
end
