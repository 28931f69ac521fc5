# frozen_string_literal: true

require_relative "../segments/command"

module Penstock
  module CLI
    module Commands
      # Gives groups that were split the offsets of their segments.
      class SegmentsCollapse < Segments::Command
        command "parallel_segments collapse", "Gives a group the offsets of its segments", usage: "[GROUP…] [options]",
          arguments: (0..)
        details <<~TEXT
          Before parallel_segments are taken away, with all processes of the group stopped. Where segments stand at different
          offsets nothing is done unless --force says so: the group then gets the lowest, and what other segments did beyond it is
          done again. Segments keep their offsets.
        TEXT

        private

        def define(parser)
          super
          parser.flag(:force, "--force", "also where segments differ: from the lowest offset")
        end

        def call(words)
          plans = plans(words)
          return ExitCodes::FAILED unless agreed?(plans, &:against_collapsing)

          plans.each { |plan| move(plan, plan.collapse) }
        end
      end
    end
  end
end
