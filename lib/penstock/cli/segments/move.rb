# frozen_string_literal: true

require_relative "command"

module Penstock
  module CLI
    module Segments
      # Base class of the commands that move offsets of split groups: an objection against one stops all, except with
      # --force. A subclass defines when that is needed, the objections (`objections`) and the new offsets (`moves`).
      class Move < Command
        class << self
          # Sets the text of `--force` in `--help`: when it is needed.
          #
          # @param text [String, nil] nil returns the current text
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

        # @return [Boolean] whether there are no objections
        def agreed?(objections)
          return true if objections.empty?

          warn_user(*objections)
          return true if options[:force]

          warn_user "Nothing was changed. --force does it anyway."
          false
        end

        def move(plan, moves)
          session.write(moves)
          count = moves.values.flatten(1).map { |topic, partition, _offset| [topic, partition] }.uniq.size
          say "#{plan.origin}: #{count} #{(count == 1) ? "partition" : "partitions"} to #{moves.keys.join(", ")}"
        end
      end
    end
  end
end
