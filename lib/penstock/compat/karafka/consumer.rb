# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists methods of Karafka's consumers that access internals and that Penstock's consumers don't have. A call
      # raises with what to do instead of "undefined method". A consumer may define such a method itself. Included in
      # {BaseConsumer}.
      module Consumer
        MISSING = {
          client: "a consumer controls its connection with pause, resume, seek, mark_as_consumed, " \
            "commit_offsets. Penstock::Admin queries the cluster (read_watermark_offsets, read_lags_with_offsets, …)",
          coordinator: "use the consumer's own methods: attempt and retrying? (pause_tracker), revoked?, " \
            "synchronize, topic, partition, errors_tracker. A retry's back-off can't be shortened: pause(offset, timeout) " \
            "holds the partition longer, resume ends this pause",
          seek_offset: "a partition isn't resumed at a single offset: incomplete records run again automatically. " \
            "seek(messages.first_offset) runs the batch again, seek(message.offset) continues there"
        }.freeze

        # @param target [Object] of a seek that isn't to move the committed offset
        # @raise [UnsupportedCaseError]
        # @api private
        def self.refuse_kept_offset(target)
          raise UnsupportedCaseError, "seek(#{target.inspect}, reset_offset: false) is not possible: after a seek the " \
            "committed offset is where the partition continues. To process records again, or to skip some, call seek without " \
            "reset_offset. To look at other records, read them with a consumer group of their own"
        end

        MISSING.each do |name, way_out|
          # @raise [NoMethodError]
          # @api private
          define_method(name) do |*|
            raise NoMethodError, "a Penstock consumer (#{self.class}) has no #{name}: #{way_out}. See " \
              "docs/coming-from-karafka.md", caller
          end
        end
      end
    end
  end
end
