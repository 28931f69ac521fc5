# frozen_string_literal: true

require_relative "route"
require_relative "track"

module Penstock
  module Processing
    module Recording
      # The flight recorder of one poll loop: a track per partition, kept across rebalances and new connections. Tracks of
      # partitions that were revoked are kept too, at least the newest {GONE} of them. Written by the loop's thread, read by any.
      class Recorder
        # Number of tracks that are kept for revoked partitions, and of tracks that are added before older ones are removed: to
        # check all tracks for each of thousands of partitions would take a second, and tens of megabytes.
        GONE = 64
        private_constant :GONE

        # @param clock [Clock]
        # @param plain_keys [Boolean] whether keys are recorded in plain text
        def initialize(clock, plain_keys: false)
          @clock = clock
          @key = plain_keys ? RowEncoder::PLAIN : RowEncoder::HASHED
          @tracks = {}
          @check_at = GONE
        end

        # Records the lane from now on.
        # @param lane [Lane]
        # @return [Track]
        def follow(lane)
          track = @tracks.delete(lane.key) || Track.new(@clock, @key)
          forget_oldest if @tracks.size >= @check_at
          track.assigned(lane)
          @tracks[lane.key] = track
        end

        # @return [Array<Hash>] plain values of every track
        def to_a
          @tracks.values.map do |track|
            lane = track.lane
            {topic: lane.topic_name, partition: lane.partition, route: Route.describe(lane.topic), state: lane.snapshot,
             width: lane.by_key? ? lane.division.width : 1, overwritten: track.overwritten, entries: track.entries}
          end
        end

        private

        def forget_oldest
          gone = @tracks.filter_map { |key, track| key unless track.lane.owned? }
          (gone.size - GONE).times { |index| @tracks.delete(gone[index]) } if gone.size > GONE
          @check_at = @tracks.size + GONE
        end
      end
    end
  end
end
