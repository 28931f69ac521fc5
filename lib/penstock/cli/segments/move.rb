# frozen_string_literal: true

require_relative "command"

module Penstock
  module CLI
    module Segments
      # What the commands that move offsets of split groups share: one that objects stops all, unless --force is said. A
      # subclass says when that is needed, what is in the way (`objections`) and what goes where (`moves`).
      class Move < Command
        class << self
          # Names when `--force` is needed, as its line of `--help` has it.
          #
          # @param text [String, nil] nil reads it
          def forces(text = nil)
            text ? @forces = text : @forces
          end
        end

        private

        def define(parser)
          super
          parser.flag(:force, "--force", self.class.forces)
        end

        def call(words)
          plans = plans(words)
          return ExitCodes::FAILED unless agreed?(plans.flat_map { |plan| objections(plan) })

          plans.each { |plan| move(plan, moves(plan)) }
        end

        # @return [Boolean] whether nothing is in the way
        def agreed?(objections)
          return true if objections.empty?

          warn_user(*objections)
          return true if options[:force]

          warn_user "Nothing was changed. --force does it all the same."
          false
        end

        def move(plan, moves)
          session.write(moves)
          count = moves.values.first.size
          say "#{plan.origin}: #{count} #{(count == 1) ? "partition" : "partitions"} to #{moves.keys.join(", ")}"
        end
      end
    end
  end
end
