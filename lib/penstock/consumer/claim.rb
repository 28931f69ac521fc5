# frozen_string_literal: true

require_relative "../errors"
require_relative "answer"

module Penstock
  class Consumer
    # A transaction that asks for its lane's offset slot, with the records that were marked in it. The poll loop grants or
    # refuses it once; whose transaction it is says in the end what became of it, which is how the slot gets free.
    #
    # Made by the thread of the transaction, which waits for the answer; the loop reads what it was made of.
    class Claim
      # What the loop hands out: a row for the offset's commit, and who the member was at that moment.
      Grant = Struct.new(:row, :group)
      # In the place of a cell: the mark stands for this record alone.
      Exact = Struct.new(:record)
      # How it ended, as the loop is told. `fate` as in {Producer::Transaction#fate}.
      Word = Struct.new(:claim, :fate)

      # What the loop keeps with a claim that it granted: what is committed with the transaction, and what was known before.
      # @return [Integer]
      attr_accessor :offset, :version, :base

      # How many bytes of metadata the coordinator found too many. Written by the worker.
      # @return [Integer, nil]
      attr_accessor :too_large

      # The ledger's version with which its map had no room; and whether somebody asks the producer how it ended. The loop's.
      attr_accessor :cramped, :inquired

      # An outcome that is put off until the end is known.
      # @return [Processing::Outcome, nil]
      attr_accessor :outcome

      attr_reader :lane, :incarnation, :unit, :marks, :metadata, :producer, :transaction

      # @param lane [Processing::Lane]
      # @param incarnation [Integer] of the lane, in which the records were read
      # @param unit [Processing::Unit, nil] whose worker it is that waits for it
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

      # The records aren't ours any more.
      def refuse = @answer.give(:refused)

      # @return [Grant, :refused, nil] nil when there was no answer in time
      def wait(timeout_s) = @answer.wait(timeout_s)
    end
  end
end
