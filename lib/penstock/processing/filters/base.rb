# frozen_string_literal: true

module Penstock
  # What decides about records, and what applications plug into it.
  module Processing
    # What applications' filters inherit from.
    module Filters
      # A filter of a partition: takes messages out of what was taken before `consume` sees them, and may have the partition wait
      # or go on elsewhere. Override {#apply!}; set `@applied`, `@cursor`, and {#action} and {#timeout} where you need them.
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
      # One object a partition for as long as it is assigned, made and called on worker threads, never by two at once. It may see
      # a message again: behind a pause, and when something that follows it failed.
      class Base
        # @return [Message, nil] where the partition waits or goes on; what is behind it is given to the filter again
        attr_reader :cursor

        def initialize
          @applied = false
          @cursor = nil
        end

        # Deletes from the Array what `consume` must not see, and nothing else: what is deleted counts as consumed.
        # @param messages [Array<Message>] in the order of their offsets; may be empty
        def apply!(messages)
          raise NotImplementedError, "#{self.class} doesn't define apply!: delete from `messages` what must not be consumed"
        end

        # @return [Boolean] whether this call's {#action} counts
        def applied? = @applied

        # @return [Symbol] :skip (nothing), :pause (wait {#timeout} ms, then go on at the {#cursor}) or :seek (go on there)
        def action = :skip

        # @return [Integer, nil] ms, with :pause; nil for the route's `pause timeout:`
        def timeout = nil

        # Accepted for filters written for other frameworks; what a filter deletes counts as consumed anyway.
        # @return [Boolean]
        def mark_as_consumed? = false

        # @return [Symbol] accepted, without effect
        def marking_method = :mark_as_consumed

        # @return [Message, nil] accepted, without effect
        def marking_cursor = cursor
      end
    end
  end

  # What applications' filters inherit from.
  Filter = Processing::Filters::Base
end
