# frozen_string_literal: true

require_relative "sending"
require_relative "special_topics"
require_relative "variant"

module Penstock
  class Producer
    # Which settings hold for the calling fiber: those of the variant whose call it is in.
    module Variants
      # Settings of some messages that differ from the producer's.
      #
      # @param max_wait_timeout [Integer] ms a synchronous call waits for its report
      # @param topic_config [Hash{Symbol => Object}] librdkafka's properties of the topics it sends to, of
      #   {Variant::TOPIC_PROPERTIES}. librdkafka has one configuration a topic and client: a topic that is in use with others
      #   is refused by the first message, with {VariantInvalidError}
      # @return [Variant] shares client and buffer with this producer
      # @raise [VariantInvalidError] with all that is wrong
      # @raise [ConfigurationError] the producer isn't set up
      def with(**changes)
        connect if status.initial?
        @varied = true
        Variant.new(self, **changes)
      end
      alias_method :variant, :with

      # @return [Variant] whose settings hold for the calling fiber: the producer's own outside of any, also in listeners that
      #   are told of deliveries
      def current_variant
        Thread.current[@variant_key] || (@own_variant ||= Variant.new(self))
      end

      # @api private
      # @param variant [Variant] holds for the block, in this fiber
      def as(variant)
        before = Thread.current[@variant_key]
        Thread.current[@variant_key] = variant
        yield
      ensure
        Thread.current[@variant_key] = before
      end

      private

      # @return [Boolean] whether the calling fiber has settings of its own
      def varied?
        @varied && !Thread.current[@variant_key].nil?
      end

      # @return [Sending] of the calling fiber's topics
      def sending
        return @sending unless varied?

        topic_config = current_variant.topic_config
        topic_config.empty? ? @sending : (@variant_sendings[topic_config] || add_sending(topic_config))
      end

      def add_sending(topic_config)
        @lock.synchronize do
          client = @client
          special = SpecialTopics.new(client, topic_config, @variant_sendings.size + 1)
          @variant_sendings[topic_config] ||= Sending.new(special, config) { |error| revive(client, error) }
        end
      end
    end
  end
end
