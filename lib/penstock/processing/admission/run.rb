# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # The result of admission for records of one lane. Every record it was given is in exactly one of the first three:
      #
      # - `messages` are admitted now, with their `keys` (nil where none were computed),
      # - `rest` is considered again when the hold has ended, with its `rest_keys`,
      # - `dropped` are offsets that will never run: they are complete.
      #
      # `hold` is `[reason, at_ms]` with the monotonic time of its end, or nil; `seek_to` the offset at which the lane
      # continues, or nil; `events` are `[name, payload]` to be published. A frozen value.
      Run = Struct.new(:messages, :keys, :rest, :rest_keys, :dropped, :hold, :seek_to, :events, keyword_init: true) do
        # @return [Boolean] whether everything was admitted, so that no action is needed
        def whole? = rest.empty? && dropped.empty? && hold.nil? && seek_to.nil?
      end
    end
  end
end
