# frozen_string_literal: true

require_relative "../config/types"
require_relative "../errors"
require_relative "../native/conf"
require_relative "../nearest"

module Penstock
  class Producer
    # A producer with other settings for messages sent through it: how long calls wait, and properties of topics. It shares the
    # client, the connections and the buffer with its producer, and has the same methods.
    #
    #     critical = producer.with(topic_config: {acks: "all"}, max_wait_timeout: 30_000)
    #     critical.produce_sync(topic: "payments", payload: "…")
    #
    # Its settings apply to the fiber that is in one of its calls, also in the block of a transaction; after the call the
    # previous settings apply again. Immutable; any thread may use it. It doesn't have to be closed: closing it closes the
    # producer.
    class Variant
      # librdkafka's topic properties that may differ between messages.
      TOPIC_PROPERTIES = %i[
        acks request.required.acks compression.codec compression.type compression.level delivery.timeout.ms
        message.timeout.ms partitioner request.timeout.ms
      ].freeze

      # Methods that are delegated to the producer unchanged.
      PLAIN = %i[
        id status config monitor middleware messages queue_size queue_length partition_count missing? purge idempotent?
        transactional? transaction? fatal_error client closed? disconnect disconnectable? current_variant with
        variant ready dispatch send_offsets settle_transaction prepare_transactions substitute restore
      ].freeze

      # Methods for which the variant's settings apply.
      OWN = %i[
        produce_async produce_sync produce_many_async produce_many_sync tombstone_async tombstone_sync tombstone_many_async
        tombstone_many_sync buffer buffer_many flush_async flush_sync flush close close! transaction
        transaction_mark_as_consumed
      ].freeze

      # @return [Integer] milliseconds
      attr_reader :max_wait_timeout
      # @return [Hash{String => String}] librdkafka's properties of the topics it sends to, in addition to the client's
      attr_reader :topic_config

      # @api private
      # @param producer [Producer]
      def initialize(producer, max_wait_timeout: producer.config.max_wait_timeout, topic_config: {})
        problems = [wait_problem(max_wait_timeout), *topic_problems(producer, topic_config)].compact
        raise VariantInvalidError, problems unless problems.empty?

        @producer = producer
        @max_wait_timeout = max_wait_timeout
        @topic_config = topic_config.to_h { |name, value| [name.to_s.freeze, value.to_s.freeze] }.freeze
        freeze
      end

      PLAIN.each do |name|
        define_method(name) { |*arguments, **options, &block| @producer.public_send(name, *arguments, **options, &block) }
      end

      OWN.each do |name|
        define_method(name) do |*arguments, **options, &block|
          @producer.as(self) { @producer.public_send(name, *arguments, **options, &block) }
        end
      end

      # @return [String]
      def inspect
        "#<#{self.class} of #{@producer.id} max_wait_timeout=#{max_wait_timeout} topic_config=#{topic_config}>"
      end

      private

      def wait_problem(value)
        typed = Penstock::Config::Types::Milliseconds.new.coerce(value)
        return unless typed.nil? || Penstock::Config::Types.invalid?(typed)

        Problem.new("max_wait_timeout", "must be #{Penstock::Config::Types::Milliseconds.new}, is #{value.inspect[0, 80]}")
      end

      def topic_problems(producer, config)
        return [Problem.new("topic_config", "must be a Hash, is a #{config.class}")] unless config.is_a?(Hash)

        refused = config.filter_map { |name, value| name_problem(name) || acks_problem(producer, name, value) }
        return refused unless refused.empty?

        texts = config.to_h { |name, value| [name.to_s, value.to_s] }
        texts.filter_map { |name, value| value_problem(name, Native::Conf.check(name, value)) }
      end

      def name_problem(name)
        place = "topic_config.#{name}"
        return Problem.new(place, "the key #{name.inspect} must be a Symbol") unless name.is_a?(Symbol)
        return if TOPIC_PROPERTIES.include?(name)

        Problem.new(place, "can't differ in a variant", Nearest.hint(name, TOPIC_PROPERTIES))
      end

      def acks_problem(producer, name, value)
        return if !name.end_with?("acks") || %w[all -1].include?(value.to_s) || !producer.idempotent?

        Problem.new("topic_config.#{name}", "is #{value}, and an idempotent producer, as each is by default, needs `all`",
          'Use a producer of its own for these messages, with config.kafka = {…, "enable.idempotence": false}')
      end

      def value_problem(name, complaint)
        Problem.new("topic_config.#{name}", complaint) if complaint
      end
    end
  end
end
