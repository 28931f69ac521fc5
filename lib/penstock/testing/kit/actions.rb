# frozen_string_literal: true

require_relative "../../consumer/flow"

module Penstock
  module Testing
    class Kit
      # Records everything that a consumer has done in an example besides producing, in the order of its calls. Filled by the
      # parts around the consumer, read by assertions. Any thread.
      class Actions
        # `offset` of a marked message, and the metadata of the mark.
        Mark = Struct.new(:offset, :metadata)

        # @return [Array<Mark>] messages that were marked; those of a transaction once it is committed
        attr_reader :marks
        # @return [Array<Consumer::Flow::Pause>] `offset` (nil: after its messages) and `timeout_ms` (nil: until it is resumed)
        attr_reader :pauses
        # @return [Array<Consumer::Flow::Seek>] `target`: an offset, `:earliest` or `:latest`
        attr_reader :seeks
        # @return [Integer] how often it resumed
        attr_reader :resumes
        # @return [Integer] how often it committed
        attr_reader :commits
        # @return [Array<Integer>] offsets up to which it asked for one message at a time
        attr_reader :collapses

        def initialize
          @marks = []
          @pauses = []
          @seeks = []
          @collapses = []
          @resumes = @commits = 0
        end

        # @return [Integer, nil] the highest offset that was marked; it and every earlier one is complete
        def marked_offset = marks.map(&:offset).max

        # @api private
        def marked(offset, metadata) = marks << Mark.new(offset, metadata).freeze

        # @param request [Consumer::Flow, :commit]
        # @api private
        def requested(request)
          case request
          when :commit then @commits += 1
          when Consumer::Flow::Pause then pauses << request
          when Consumer::Flow::Seek then seeks << request
          when Consumer::Flow::Resume then @resumes += 1
          when Consumer::Flow::Collapse then collapses << request.through
          end
        end
      end
    end
  end
end
