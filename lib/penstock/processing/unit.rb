# frozen_string_literal: true

module Penstock
  module Processing
    # A piece of work for a worker: records of one lane, or a hook of its consumer.
    #
    # `action` is :consume, :eofed, :revoked or :shutdown. `upto` is the offset up to which the partition is complete once the
    # unit has succeeded: the next record's offset, so that gaps left by compaction or transaction markers are covered.
    # `incarnation` names the lane's life the unit belongs to: what comes back from an earlier one counts no more.
    Unit = Struct.new(:lane, :action, :messages, :upto, :attempt, :incarnation) do
      def consume? = action == :consume
      def single? = messages.size == 1
      def hook? = action == :revoked || action == :shutdown
      def topic_name = lane.topic_name
    end

    # What a worker hands back. `blamed` is the offset of the record the error belongs to, `through` the highest mark,
    # `flow` what the user asked of the partition, `finished` false when an `each` was left early without an error.
    Outcome = Struct.new(:unit, :error, :blamed, :flow, :finished, :time_ms, keyword_init: true) do
      # @return [Boolean] whether what follows in the lane may run without asking the loop
      def smooth? = error.nil? && flow.nil?
    end
  end
end
