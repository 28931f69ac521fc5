# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Methods of Karafka's consumers that reach into its internals and that Penstock's consumers don't have. A call raises with
      # what to do instead of "undefined method". A consumer may define such a method itself. Included in {BaseConsumer}.
      module Consumer
        MISSING = {
          client: "of the connection a consumer says what it means to the framework: pause, resume, seek, mark_as_consumed, " \
            "commit_offsets. Penstock::Admin asks the cluster (read_watermark_offsets, read_lags_with_offsets, …)",
          coordinator: "what it was asked for are the consumer's own methods: attempt and retrying? (pause_tracker), revoked?, " \
            "synchronize, topic, partition, errors_tracker. A retry's back-off is over when it is over: pause(offset, timeout) " \
            "holds the partition longer, resume ends that",
          seek_offset: "where a partition begins anew isn't one offset: what isn't complete runs again by itself. " \
            "seek(messages.first_offset) runs the batch again, seek(message.offset) goes on there"
        }.freeze

        MISSING.each do |name, way_out|
          # @raise [NoMethodError]
          # @api private
          define_method(name) do |*|
            raise NoMethodError, "a Penstock consumer (#{self.class}) has no #{name}: #{way_out}. docs/coming-from-karafka.md " \
              "has the rest", caller
          end
        end
      end
    end
  end
end
