# frozen_string_literal: true

module Penstock
  class Producer
    # Which {Variant}'s settings hold for the calling fiber: those of the variant whose call the fiber is in.
    #
    # Owned by its producer. Any thread; each fiber has its own.
    class VariantScope
      def initialize
        @key = :"penstock_variant_#{object_id}"
        @used = false
      end

      # Called when the first variant is made: until then nothing has to be looked up.
      #
      # @return [void]
      def use
        @used = true
      end

      # Called for every message.
      #
      # @return [Variant, nil] nil where the producer's own settings hold
      def current
        Thread.current[@key] if @used
      end

      # @return [Hash{String => String}, nil] properties of topics that hold for the calling fiber
      def topic_config
        current&.topic_config
      end

      # @param variant [Variant] holds for the block
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
