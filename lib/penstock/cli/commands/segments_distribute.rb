# frozen_string_literal: true

require_relative "../segments/command"

module Penstock
  module CLI
    module Commands
      # Gives the segments of split groups the offsets their group had.
      class SegmentsDistribute < Segments::Command
        command "parallel_segments distribute", "Gives segments the offsets of their group", usage: "[GROUP…] [options]",
          arguments: (0..)
        details <<~TEXT
          Before the first start with parallel_segments, with all processes of the group stopped. Segments that have offsets
          already are left alone unless --force says otherwise. The group keeps its own.
        TEXT

        private

        def define(parser)
          super
          parser.flag(:force, "--force", "also where segments have offsets")
        end

        def call(words)
          plans = plans(words)
          return ExitCodes::FAILED unless agreed?(plans, &:against_distributing)

          plans.each { |plan| move(plan, plan.distribution) }
        end
      end
    end
  end
end
