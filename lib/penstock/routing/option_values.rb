# frozen_string_literal: true

require_relative "../config/kafka_hash"

module Penstock
  module Routing
    # An immutable Struct.
    module FrozenStruct
      def initialize(...)
        super
        freeze
      end
    end

    # Waits before retries of a topic, in ms.
    Pause = Struct.new(:timeout, :max_timeout, :exponential) do
      include FrozenStruct

      alias_method :with_exponential_backoff, :exponential
    end

    # The desired state of a topic on the cluster, for `penstock topics`.
    Declaration = Struct.new(:active, :partitions, :replication_factor, :protect, :details) do
      include FrozenStruct
    end

    # A topic's or subscription group's own properties, instead of those above it or, with `inherit`, merged into them.
    class OwnKafka
      # @return [Config::KafkaHash]
      attr_reader :properties
      # @return [Boolean]
      attr_reader :inherit

      def initialize(properties, inherit)
        @properties = Config::KafkaHash.from(properties).freeze
        @inherit = inherit
        freeze
      end

      # @param above [Config::KafkaHash]
      # @return [Config::KafkaHash] the effective properties
      def over(above)
        @inherit ? above.merge(@properties).freeze : @properties
      end
    end
  end
end
