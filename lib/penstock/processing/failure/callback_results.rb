# frozen_string_literal: true

require_relative "provenance"

module Penstock
  module Processing
    module Failure
      # Results of the user's callbacks for a failed record (strategy, `backoff_for`, `enhance_dlq_message`). The worker calls
      # them, because user code never runs on the loop; the loop decides.
      #
      # `offset` is the record it is about, `answer` the strategy's (action and topic), `backoff_ms` the return value of a
      # `backoff_for` block, `letter` the message to send instead of another retry. `letters` are those of expired records.
      # `unreadable`: see {Policy#unreadable?}.
      CallbackResults = Struct.new(:offset, :answer, :backoff_ms, :letter, :letters, :unreadable, keyword_init: true)

      # A message ready to be sent for a record that failed. `record` is the record's view, `dispatch` the Hash for the
      # producer, `kind` :dead_letter, :expired or :retry, `caller` the consumer.
      #
      # `reference`: if it is too large, parts that don't fit may be left out, see {Oversized}. `instead` is then sent in place
      # of a message to a retry topic, `refusal` why something was left out when it was built.
      Letter = Struct.new(:record, :dispatch, :producer, :kind, :error, :attempt, :caller, :reference, :instead, :refusal,
        keyword_init: true) do
        # @return [String] where it goes
        def topic = dispatch[:topic]

        # @return [Integer] of the record
        def offset = record.offset

        # @return [String, nil] names of the parts that were left out
        def omitted = dispatch[:headers]&.fetch(Provenance::OMITTED, nil)
      end
    end
  end
end
