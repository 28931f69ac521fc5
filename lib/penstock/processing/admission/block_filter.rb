# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # `filter { |message| keep? }` as a filter object. It asks for nothing: what it takes out is dropped.
      #
      # Called on workers, by one at a time.
      class BlockFilter
        # @param keep [#call] answers whether a message is to be kept
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
