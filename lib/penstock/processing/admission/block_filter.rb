# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # Wraps `filter { |message| keep? }` as a filter object. It never requests a pause or seek: messages it removes are
      # dropped.
      #
      # Called on workers, by one at a time.
      class BlockFilter
        # @param keep [#call] returns whether to keep a message
        def initialize(keep)
          @keep = keep
        end

        # @param messages [Array<Message>] changed in place
        def apply!(messages)
          messages.select! { |message| @keep.call(message) }
        end

        def applied? = false
      end
    end
  end
end
