# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/processing/leader_epochs"

module Penstock
  # The epoch that a commit contains: that of the record below the committed offset.
  class LeaderEpochsTest < TestCase
    include TestSupport::Lanes

    def setup = @epochs = Processing::LeaderEpochs.new

    test "it is unknown before the first record" do
      assert_equal(-1, @epochs.below(0))
      @epochs.record(batch(5..9, epoch: 3))

      assert_equal [-1, 3, 3], [5, 6, 10].map { |base| @epochs.below(base) }
    end

    test "where the leader changed, the record below the offset counts, not the latest" do
      @epochs.record(batch(0..4, epoch: 1))
      @epochs.record(batch(5..9, epoch: 2))
      @epochs.record(batch(10..12, epoch: 4))

      assert_equal [1, 1, 2, 2, 4], [1, 5, 6, 10, 11].map { |base| @epochs.below(base) }
    end

    test "a batch that several leaders wrote is read record by record" do
      rows = [[0, 1], [1, 1], [2, 2], [3, 3]].map do |offset, epoch|
        Messages::MemoryBatch::Row.new(offset: offset, payload: "p", leader_epoch: epoch)
      end
      @epochs.record(Messages::MemoryBatch.new("orders", 0, rows))

      assert_equal [1, 1, 2, 3], [1, 2, 3, 4].map { |base| @epochs.below(base) }
    end

    test "an empty batch changes nothing, and a cleared list knows nothing" do
      @epochs.record(batch(0..1, epoch: 1))
      @epochs.record(batch([]))
      assert_equal 1, @epochs.below(2)
      @epochs.clear

      assert_equal(-1, @epochs.below(2))
    end
  end
end
