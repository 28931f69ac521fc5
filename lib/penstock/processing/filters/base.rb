# frozen_string_literal: true

module Penstock
  # Decides about records; also contains the base classes for applications' filters.
  module Processing
    # Base classes of applications' filters.
    module Filters
      # Base class of a partition's filter: removes messages from a batch before `consume` sees them, and may pause the
      # partition or continue at another offset. Override {#apply!}; set `@applied`, `@cursor`, and {#action} and {#timeout}
      # where you need them.
      #
      #     class OfficeHours < Penstock::Filter
      #       def apply!(messages)
      #         @applied = !open?
      #         @cursor = messages.first
      #         messages.clear if applied?
      #       end
      #
      #       def action = :pause
      #       def timeout = 60_000
      #     end
      #
      # One object per partition for as long as it is assigned, created and called on worker threads, never by two at once. It
      # may see a message again: after a pause, and when a later message failed.
      class Base
        # @return [Message, nil] where the partition pauses or continues; the filter gets the messages from there on again
        attr_reader :cursor

        def initialize
          @applied = false
          @cursor = nil
        end

        # Deletes from the Array the messages that `consume` must not see, and nothing else: deleted messages count as consumed.
        # @param messages [Array<Message>] in the order of their offsets; may be empty
        def apply!(messages)
          raise NotImplementedError, "#{self.class} doesn't define apply!: delete unwanted messages from `messages`"
        end

        # @return [Boolean] whether this call's {#action} applies
        def applied? = @applied

        # @return [Symbol] :skip (nothing), :pause (wait {#timeout} ms, then continue at the {#cursor}) or :seek (continue
        #   there)
        def action = :skip

        # @return [Integer, nil] ms, with :pause; nil for the route's `pause timeout:`
        def timeout = nil

        # Accepted for filters written for other frameworks; deleted messages count as consumed anyway.
        # @return [Boolean]
        def mark_as_consumed? = false

        # @return [Symbol] accepted, without effect
        def marking_method = :mark_as_consumed

        # @return [Message, nil] accepted, without effect
        def marking_cursor = cursor
      end
    end
  end

  # Base class of applications' filters.
  Filter = Processing::Filters::Base
end
