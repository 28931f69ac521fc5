# frozen_string_literal: true

require_relative "../on_demand"
require_relative "claim"
Penstock.load_constant :AssignmentLostError

module Penstock
  class Consumer
    # Runs one transaction of a consumer: what its block produces and marks becomes visible together. It keeps the marks; at
    # the end of the block it makes a claim for the lane's offset slot, and sends the offset that the loop grants with the
    # transaction. However it ends, it reports the end to the loop.
    #
    # Created for one call, used by the thread that runs the block.
    class Transaction
      # How long to wait for the slot: no offset belongs to the transaction yet, so it can be aborted.
      PATIENCE_S = 30.0
      # Error codes of a coordinator for a member that has been replaced: the group has rebalanced.
      DISPLACED = %i[illegal_generation unknown_member_id rebalance_in_progress fenced_instance_id fenced_member_epoch
        stale_member_epoch].freeze
      private_constant :DISPLACED

      # @return [Producer]
      attr_reader :producer

      # @return [Boolean] whether offsets were committed with it
      attr_reader :carried

      # @param lane [Processing::Lane]
      # @param loop_client [#claim, #end_claim]
      # @param producer [Producer]
      # @param unit [Processing::Unit, nil]
      def initialize(lane, loop_client, producer, unit)
        @lane = lane
        @loop_client = loop_client
        @producer = producer
        @unit = unit
        @incarnation = unit ? unit.incarnation : lane.incarnation
        @own_marks = lane.marks
        @marks = []
        @metadata = nil
        @carried = false
      end

      # @return [Boolean] whether its block was entered
      def begun? = !@transaction.nil?

      # @return [Symbol] how it ended, see {Producer::Transaction#fate}
      def outcome = @transaction.fate

      # @yieldparam transaction [Producer::Transaction]
      # @return [Object, nil] the block's return value; nil when it was aborted on purpose
      def call
        @producer.transaction do |transaction|
          @transaction = transaction
          result = yield transaction
          carry_offset unless @marks.empty?
          result
        end
      ensure
        Thread.handle_interrupt(Object => :never) { over } # a kill isn't an exception
      end

      # @param message [Message]
      # @param metadata [String, nil]
      # @return [true]
      # @raise [AssignmentLostError]
      def mark(message, metadata)
        cell = message.mark_cell # from an earlier incarnation of the lane if a thread of the user's has kept the record
        raise AssignmentLostError, gone unless [@own_marks, cell].compact.all?(&:owned?)
        @marks << [cell, message.offset]
        @metadata = metadata if metadata
        true
      end

      # @param record [Message] completed by what the transaction produces, regardless of the records before it
      # @return [void]
      def mark_alone(record)
        @marks << [Claim::Exact.new(record), record.offset]
      end

      private

      def carry_offset
        raise AssignmentLostError, gone unless @own_marks.owned?
        @claim = Claim.new(lane: @lane, incarnation: @incarnation, unit: @unit, marks: @marks, metadata: @metadata,
          producer: @producer, transaction: @transaction)
        @loop_client.claim(@claim)
        send_offset(answered(@claim.wait(PATIENCE_S)))
      end

      def answered(answer)
        raise AssignmentLostError, gone if answer == :refused
        return answer if answer
        raise TransactionDeferredError, "another transaction, or a commit, of #{place} didn't end within " \
          "#{PATIENCE_S.round} s: this one is aborted and its records run again"
      end

      def send_offset(grant)
        @producer.send_offsets([grant.row], grant.group)
      rescue KafkaError => error
        too_large(grant) if error.code == :offset_metadata_too_large
        raise unless DISPLACED.include?(error.code)
        raise AssignmentLostError, "the group rebalanced while a transaction of #{place} ran: it is aborted"
      end

      # Not a record's fault: the next transaction sends less metadata, or none.
      def too_large(grant)
        @claim.too_large = grant.row[3].to_s.bytesize
        return if @claim.too_large.zero?
        raise TransactionDeferredError, "the coordinator rejects #{@claim.too_large} bytes of metadata with the offset of " \
          "#{place}: the transaction is aborted and its records run again, with less metadata"
      end

      def over
        return unless @claim
        @loop_client.end_claim(@claim, outcome)
        @carried = outcome == :committed
      end

      def gone
        "#{place} is no longer ours, or the record has been redelivered after an error: the transaction is aborted, and its " \
          "records run again, here or elsewhere"
      end

      def place = "#{@lane.topic_name}/#{@lane.partition}"
    end
  end
end
