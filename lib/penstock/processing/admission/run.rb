# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # What admission says about records of one lane. Every record it was given is in exactly one of the first three:
      #
      # - `messages` go in now, `keys` beside them (nil where nobody computed any),
      # - `rest` is considered again when the hold has ended, `rest_keys` beside it,
      # - `dropped` are offsets nobody will run: they are complete.
      #
      # `hold` is `[reason, at_ms]` with the monotonic time of its end, or nil; `seek_to` the offset the lane goes on at, or nil;
      # `events` are `[name, payload]` to be published. A frozen value.
      Run = Struct.new(:messages, :keys, :rest, :rest_keys, :dropped, :hold, :seek_to, :events, keyword_init: true) do
        # @return [Boolean] whether everything went in, so that there is nothing to do but to go on
        def whole? = rest.empty? && dropped.empty? && hold.nil? && seek_to.nil?
      end
    end
  end
end
