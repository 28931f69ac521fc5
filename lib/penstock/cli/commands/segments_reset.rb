# frozen_string_literal: true

require_relative "../segments/move"

module Penstock
  module CLI
    module Commands
      # Sets a split group and all its segments to the same offsets: the lowest that any segment has.
      class SegmentsReset < Segments::Move
        command "parallel_segments reset", "Sets all segments of a group to the lowest offset of any segment",
          usage: "[GROUP…] [options]", arguments: (0..)
        details <<~TEXT
          Run it before you change the number of segments, the partitioner or the reducer, with all processes of the group
          stopped: a record may then belong to another segment. Records that segments completed beyond the lowest offset run
          again; if there is any such work, the command needs --force. A segment without an offset counts with that of the group,
          from before it was split; if the group has none either, the others' offsets are removed, so that all begin alike.
        TEXT
        forces "also where segments have different offsets: use the lowest one"

        private

        def objections(plan) = plan.against_collapsing

        def moves(plan) = plan.reset
      end
    end
  end
end
