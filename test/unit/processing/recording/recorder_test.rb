# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "support/virtual_clock"
require "penstock/processing/recording/recorder"

module Penstock
  # The tracks of a poll loop.
  class RecorderTest < TestCase
    # As much of a lane as a recorder needs; counts how often it is looked at.
    class Lane < Struct.new(:key, :owned)
      attr_reader :looks

      def owned?
        @looks = looks.to_i + 1
        owned
      end

      def epoch = 1
      def by_key? = false
      def prepare = nil
      def pipeline = nil
    end

    def setup = @recorder = Processing::Recording::Recorder.new(VirtualClock.new)

    def followed(partitions)
      partitions.map { |partition| Lane.new(["orders", partition], true).tap { |lane| @recorder.follow(lane) } }
    end

    def tracks = @recorder.instance_variable_get(:@tracks)

    test "thousands of partitions are followed without looking at all of them for each" do
      lanes = followed(0...2_000)
      assert_equal 2_000, tracks.size
      assert_operator lanes.sum { |lane| lane.looks.to_i }, :<, 20 * 2_000
    end

    test "of partitions that are gone the newest tracks are kept, and not many more" do
      20.times do |round|
        followed((round * 100)...((round + 1) * 100)).each { |lane| lane.owned = false }
      end
      assert_operator tracks.size, :<=, 64 + 64 + 100
      assert_equal (1_936...2_000).map { |partition| ["orders", partition] }, tracks.keys.last(64)
    end

    test "a partition that comes back continues its track" do
      followed([7]).first.owned = false
      before = tracks.fetch(["orders", 7])
      followed([7])
      assert_same before, tracks.fetch(["orders", 7])
    end
  end
end
