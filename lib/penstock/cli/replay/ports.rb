# frozen_string_literal: true

module Penstock
  module CLI
    module Replay
      # What effects of a replay are performed with: nothing happens outside of the lane. A seek waits for what the recording says
      # of it, a letter for its acknowledgement there.
      class Ports
        def initialize
          @letters = {}
        end

        # @return [Failure::Burial, nil] whose letter is acknowledged now
        def letter(offset) = @letters.delete(offset)

        # @return [Failure::Burial, nil] whose letter is on its way
        def pending(offset) = @letters[offset]

        def dead_letter(lane, burial)
          lane.letter_sent
          @letters[burial.letter.offset] = burial
        end

        def emit(_name, _payload) = nil
        def report(_lane, _number, _message) = nil
        def stop(_error) = nil
        def moved = nil
        def prepare(_lane) = nil
        def seek(_lane, _target, _cause) = nil
      end
    end
  end
end
