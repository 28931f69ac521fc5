# frozen_string_literal: true

require_relative "../errors"
require_relative "answer"

module Penstock
  class Consumer
    # A transaction's request for its lane's offset slot, with the records that were marked in it. The poll loop grants or
    # refuses it once. At the end the transaction's owner reports how it ended, which frees the slot.
    #
    # Created by the transaction's thread, which waits for the answer; the loop reads its contents.
    class Claim
      # The loop's answer: a row for the offset's commit, and the group member's identity at that moment.
      Grant = Struct.new(:row, :group)
      # Stands in for a cell: the mark applies to this record only.
      Exact = Struct.new(:record)
      # Reports to the loop how the transaction ended. `fate` as in {Producer::Transaction#fate}.
      TransactionEnd = Struct.new(:claim, :fate)

      # State that the loop keeps with a granted claim: what is committed with the transaction, and what was known before.
      # @return [Integer]
      attr_accessor :offset, :version, :base

      # Size in bytes of the metadata that the coordinator rejected as too large. Written by the worker.
      # @return [Integer, nil]
      attr_accessor :too_large

      # The ledger's version whose map didn't fit; and whether a thread is finding out how the transaction ended. Owned by the
      # loop.
      attr_accessor :unfit_version, :resolving

      # An outcome that is postponed until the end is known.
      # @return [Processing::Outcome, nil]
      attr_accessor :outcome

      attr_reader :lane, :incarnation, :unit, :marks, :metadata, :producer, :transaction

      # @param lane [Processing::Lane]
      # @param incarnation [Integer] of the lane, in which the records were read
      # @param unit [Processing::Unit, nil] the unit whose worker waits for the answer
      # @param marks [Array<Array(Object, Integer)>] cells and offsets
      # @param metadata [String, nil] the user's, for the offset
      # @param producer [Producer]
      # @param transaction [Producer::Transaction]
      def initialize(lane:, incarnation:, unit:, marks:, metadata:, producer:, transaction:)
        @lane = lane
        @incarnation = incarnation
        @unit = unit
        @marks = marks
        @metadata = metadata
        @producer = producer
        @transaction = transaction
        @answer = Answer.new
      end

      # @param row [Array] topic, partition, offset, metadata, leader epoch
      # @param group [Native::GroupMetadata]
      def grant(row, group) = @answer.give(Grant.new(row, group))

      # The records are no longer ours.
      def refuse = @answer.give(:refused)

      # @return [Grant, :refused, nil] nil when there was no answer in time
      def wait(timeout_s) = @answer.wait(timeout_s)
    end
  end
end
