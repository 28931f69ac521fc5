# frozen_string_literal: true

require_relative "../config/kafka_hash"
require_relative "../config/properties"
require_relative "../config/property_values"
require_relative "../errors"
require_relative "../native/conf"
require_relative "../nearest"

module Penstock
  class Producer
    # Builds librdkafka's properties for a producer: the user's Hash, plus our defaults for properties that it doesn't set, as
    # Strings. Never changes the user's Hash. Checks it; opens nothing.
    class Properties
      # `message.timeout.ms` < `transaction.timeout.ms` < `max_wait_timeout`, so that a wait ends with a final verdict.
      DEFAULTS = {
        "client.id": "penstock",
        "statistics.interval.ms": 5_000,
        "message.timeout.ms": 150_000,
        "transaction.timeout.ms": 165_000,
        "socket.nagle.disable": true,
        "socket.timeout.ms": 30_000,
        "topic.metadata.refresh.interval.ms": 10_000,
        "reconnect.backoff.max.ms": 1_000
      }.freeze

      # The producer is idempotent by default, like Kafka's own clients: a retry after a lost answer neither stores a message
      # twice nor reorders messages. It isn't idempotent if the user sets one of these to an incompatible value and doesn't
      # request idempotence.
      RULED_OUT_BY = {
        "request.required.acks" => ->(value) { !%w[all -1].include?(value) },
        "max.in.flight.requests.per.connection" => ->(value) { value.to_i > 5 },
        "message.send.max.retries" => ->(value) { value == "0" },
        "queuing.strategy" => ->(value) { value == "lifo" }
      }.freeze
      private_constant :RULED_OUT_BY

      BROKERS = %w[bootstrap.servers metadata.broker.list test.mock.num.brokers].freeze

      # @param hash [Hash{Symbol => Object}]
      def initialize(hash)
        @hash = Config::KafkaHash.from(hash)
      end

      # @return [Config::KafkaHash] the user's properties and our defaults; frozen
      def with_defaults
        given = @hash.keys.map { |name| canonical(name.to_s) }
        defaults = {**DEFAULTS, "enable.idempotence": idempotence_possible?, "socket.timeout.ms": answer_time}
        missing = defaults.reject { |name, _| given.include?(canonical(name.to_s)) }
        Config::KafkaHash.from(missing).update(@hash).freeze
      end

      # @return [Hash{String => String}] properties for the driver: without those that only consumers have, which an
      #   application's common Hash may contain
      def to_native
        known = Native::Conf.properties
        with_defaults.each_with_object({}) do |(name, value), result|
          result[name.to_s] = text(value) unless value.nil? || known[name.to_s]&.scope == :consumer
        end
      end

      # @return [Integer] milliseconds after which librdkafka reports a message as failed
      def message_timeout_ms
        with_defaults.find { |name, _| canonical(name.to_s) == canonical("message.timeout.ms") }.last.to_i
      end

      # @return [Array<Problem>]
      def problems
        return [Problem.new("config.kafka", "must be a Hash with librdkafka's properties", way_out)] if @hash.empty?

        wrong = string_keys + unfit_values + no_mechanism + no_brokers
        wrong.empty? ? values : wrong
      end

      private

      # librdkafka requires the time limit for answers to be below that of the transaction.
      def answer_time
        limit = Integer(@hash[:"transaction.timeout.ms"], exception: false)
        [limit, DEFAULTS[:"socket.timeout.ms"]].compact.min
      end

      def idempotence_possible?
        @hash.none? { |name, value| RULED_OUT_BY[canonical(name.to_s)]&.call(text(value)) unless value.nil? }
      end

      # Replaces an alias by the property it stands for.
      def canonical(name)
        Native::Conf.properties[name]&.alias_of || name
      end

      def text(value)
        value.is_a?(Array) ? value.join(",") : value.to_s
      end

      def way_out
        'For example config.kafka = {"bootstrap.servers": "127.0.0.1:9092"}'
      end

      def string_keys
        @hash.keys.grep_v(Symbol).map do |name|
          Problem.new("config.kafka", "the key #{name.inspect} must be a Symbol", "Write it as #{name.to_s.to_sym.inspect}")
        end
      end

      def unfit_values
        fitting = [String, Symbol, Numeric, Array, true, false, nil]
        @hash.reject { |_, value| fitting.any? { |kind| kind === value } }.map do |name, value|
          Problem.new("config.kafka.#{name}", "can't be a #{value.class}", "Give a String, a number, true or false")
        end
      end

      def no_mechanism
        name, *wrong = Config::PropertyValues.mechanism(@hash)
        name ? [Problem.new("config.kafka.#{name}", *wrong)] : []
      end

      def no_brokers
        return [] if BROKERS.any? { |name| @hash.key?(name.to_sym) || @hash.key?(name) }

        [Problem.new("config.kafka.bootstrap.servers", "is missing", way_out)]
      end

      def values
        wrong = no_numbers
        wrong.map { |name, *problem| Problem.new("config.kafka.#{name}", *problem) } + refused(wrong.map(&:first))
      end

      # @return [Array<Array(String, String, String)>] name, problem and way out. Those of consumers are left out of a producer's
      #   properties
      def no_numbers
        @hash.filter_map do |name, value|
          next if value.nil? || !Config::Properties.for?(name, :producer)

          wrong = Config::PropertyValues.number(name, value) and [name.to_s, *wrong]
        end
      end

      # Problems that librdkafka itself finds in the properties that aren't reported yet.
      def refused(reported)
        Native::Conf.validate(to_native.except(*reported), :producer).map do |name, message|
          known = name.nil? || Native::Conf.properties.key?(name)
          hint = known ? Config::Properties.allowed(name, message) : Nearest.hint(name, Native::Conf.properties.keys)
          Problem.new(["config.kafka", name].compact.join("."), message.strip, hint)
        end
      end
    end
  end
end
