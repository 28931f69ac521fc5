# frozen_string_literal: true

require "penstock"
require_relative "../../support/wait"

# Methods that examples and the code around them may use. Loaded into the process of one example.
module Penstock
  module DocsTest
    module Prelude
      # Without these settings the embedded broker answers half a second late.
      QUICK = {"fetch.wait.max.ms": 10, "session.timeout.ms": 2_000, "heartbeat.interval.ms": 300}.freeze

      # Runs the application until the block returns true, and stops it.
      # @return [Integer] its exit code
      def run_app(app = Penstock.app, seconds: 20, &done)
        app.setup do |config|
          config.kafka = {**QUICK, **config.kafka}
          config.group_id = "docs-#{::Process.pid}"
        end
        server = Thread.new { app.run!(traps: false) }
        wait_for(seconds, &done)
        app.stop!
        server.value.tap { |code| raise "the application ended with #{code}" unless code.zero? }
      end

      # @param messages [Array<String, nil, Hash>] payloads, or messages without their topic; all to partition 0
      def produce(topic, *messages)
        producer = Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": BOOTSTRAP} }
        messages = messages.map { |message| message.is_a?(Hash) ? message : {payload: message} }
        producer.produce_many_sync(messages.map { |message| {topic: topic, partition: 0, **message} })
      ensure
        producer&.close
      end

      def wait_for(seconds = 20, &) = TestSupport::Wait.wait_until(seconds, &)
      def check(truth, text = "what the example promises") = truth || raise("not so: #{text}")
    end
  end
end

BOOTSTRAP = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")
TOPLEVEL_BINDING.receiver.extend(Penstock::DocsTest::Prelude)

# Defines consumers that an example only names.
class Object
  def self.const_missing(name)
    return super unless name.end_with?("Consumer")
    const_set(name, Class.new(Penstock::BaseConsumer) { def consume = nil })
  end
end
