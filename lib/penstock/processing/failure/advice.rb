# frozen_string_literal: true

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
      Letter = Struct.new(:record, :dispatch, :producer, :kind, :error, :attempt, :caller, keyword_init: true) do
        # @return [String] where it goes
        def topic = dispatch[:topic]

        # @return [Integer] of the record
        def offset = record.offset
      end
    end
  end
end
