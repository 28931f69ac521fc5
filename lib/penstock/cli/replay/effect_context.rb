# frozen_string_literal: true

module Penstock
  module CLI
    module Replay
      # Performs the effects of a replay: nothing happens outside of the lane. A seek waits for its recorded result, a
      # letter for its recorded acknowledgement.
      class EffectContext
        def initialize
          @letters = {}
        end

        # @return [Failure::LetterRequest, nil] the one whose letter is acknowledged now
        def letter(offset) = @letters.delete(offset)

        # @return [Failure::LetterRequest, nil] the one whose letter is in flight
        def pending(offset) = @letters[offset]

        def dead_letter(lane, request)
          lane.letter_sent
          @letters[request.letter.offset] = request
        end

        def emit(_name, _payload) = nil
        def report(_lane, _number, _message) = nil
        def stop(_error) = nil
        def schedule_commit = nil
        def prepare(_lane) = nil
        def seek(_lane, _target, _cause) = nil
        def place(_lane, target) = target
        def read_offset_again(_lane, _place) = nil
      end
    end
  end
end
