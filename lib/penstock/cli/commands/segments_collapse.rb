# frozen_string_literal: true

require_relative "../segments/move"

module Penstock
  module CLI
    module Commands
      # Gives groups that were split the offsets of their segments.
      class SegmentsCollapse < Segments::Move
        command "parallel_segments collapse", "Gives a group the offsets of its segments", usage: "[GROUP…] [options]",
          arguments: (0..)
        details <<~TEXT
          Before parallel_segments are taken away, with all processes of the group stopped. Where segments stand at different
          offsets nothing is done unless --force says so: the group then gets the lowest, and what other segments did beyond it is
          done again. Segments keep their offsets.
        TEXT
        forces "also where segments differ: from the lowest offset"

        private

        def objections(plan) = plan.against_collapsing

        def moves(plan) = plan.collapse
      end
    end
  end
end
