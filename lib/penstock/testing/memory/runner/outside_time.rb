# frozen_string_literal: true

require_relative "../../../clock"

module Penstock
  module Testing
    module Memory
      class Runner
        # Notices when a test moves the time of Ruby with Rails' time helpers (`travel`, `travel_to`) or a gem like them: what
        # these skip passes in virtual time too. The time that the test itself takes doesn't count, so that a slow machine makes
        # no difference; neither does a step back.
        class OutsideTime
          # A difference that no slow call explains.
          JUMP_S = 0.5
          private_constant :JUMP_S

          def initialize = look

          # @return [Integer] ms that were skipped since the last call
          def skipped_ms
            before, real, frozen = @time, @real, @frozen
            look
            passed = @time - before
            jumped = passed - (@real - real) > JUMP_S
            ((frozen || jumped) && passed.positive?) ? (passed * 1_000).round : 0
          end

          # @return [Integer] ms since 1970
          def now_ms = (@time * 1_000).to_i

          private

          def look
            @time = ::Time.now.to_r
            @real = Clock.seconds
            @frozen = ::Time.now.to_r == @time
          end
        end
      end
    end
  end
end
