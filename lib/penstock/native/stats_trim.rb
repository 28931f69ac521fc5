# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # Cuts librdkafka's statistics down to the parts that are used: the client's numbers, its brokers, its group, and the
    # wanted partitions' offsets and lags. One pass over the text in C; the rest is cheap to parse. See
    # `ext/penstock_core/core/stats_trim.h`. Stateless; any thread.
    #
    # Defined in the extension: `call(json, wanted)` → the shorter text, or nil when it isn't JSON as librdkafka writes it.
    # `wanted` is `{topic => {partition => true}}`; with nil no topic is kept.
    module StatsTrim
      # @param json [String] as librdkafka emits it
      # @param partitions [Array<(String, Integer)>] topic and partition
      # @return [String, nil]
      def self.keep(json, partitions)
        wanted = partitions.each_with_object({}) do |(topic, partition), found|
          (found[topic] ||= {})[partition] = true
        end
        call(json, wanted)
      end
    end
  end
end
