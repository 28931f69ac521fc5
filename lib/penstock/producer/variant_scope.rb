# frozen_string_literal: true

module Penstock
  class Producer
    # Keeps which {Variant}'s settings apply to the calling fiber: those of the variant whose call the fiber is in.
    #
    # Owned by its producer. Any thread; each fiber has its own.
    class VariantScope
      def initialize
        @key = :"penstock_variant_#{object_id}"
        @used = false
      end

      # Called when the first variant is created: until then nothing has to be looked up.
      #
      # @return [void]
      def use
        @used = true
      end

      # Called for every message.
      #
      # @return [Variant, nil] nil if the producer's own settings apply
      def current
        Thread.current[@key] if @used
      end

      # @return [Hash{String => String}, nil] properties of topics for the calling fiber
      def topic_config
        current&.topic_config
      end

      # @param usual [String, nil] the producer's own partitioner
      # @return [Proc] returns the one that applies to the calling fiber
      def partitioner(usual) = -> { topic_config&.fetch("partitioner", nil) || usual }

      # @param variant [Variant] applies to the block
      def within(variant)
        before = Thread.current[@key]
        Thread.current[@key] = variant
        yield
      ensure
        Thread.current[@key] = before
      end
    end
  end
end
