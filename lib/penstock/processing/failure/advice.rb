# frozen_string_literal: true

require_relative "provenance"

module Penstock
  module Processing
    module Failure
      # What the worker found out about a failed record at the end of execution, where user code may run, so that the loop only
      # has to decide.
      #
      # `offset` is the record it is about, `answer` the strategy's (action and topic), `backoff_ms` what a block said, `letter`
      # the message that is ready to be sent if it comes to that.
      Advice = Struct.new(:offset, :answer, :backoff_ms, :letter, keyword_init: true)

      # A message ready to be sent for a record that failed. `record` is the record's view, `dispatch` what the producer takes,
      # `kind` :dead_letter or :retry, `caller` the consumer.
      #
      # `reference`: where it is too large, what doesn't fit may be left out, see {Oversized}. `instead` is what is sent then in
      # place of a message to a retry topic, `refusal` why something was left out when it was made.
      Letter = Struct.new(:record, :dispatch, :producer, :kind, :error, :attempt, :caller, :reference, :instead, :refusal,
        keyword_init: true) do
        # @return [String] where it goes
        def topic = dispatch[:topic]

        # @return [Integer] of the record
        def offset = record.offset

        # @return [String, nil] what was left out of it
        def omitted = dispatch[:headers]&.fetch(Provenance::OMITTED, nil)
      end
    end
  end
end
