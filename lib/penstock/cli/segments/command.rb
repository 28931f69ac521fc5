# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Segments
      # What the commands about split groups have in common: they look at all groups before they change one, and change nothing
      # where one of them objects.
      class Command < CLI::Command
        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.list(:groups, "--groups GROUP,…", "the split groups, as arguments (default: all)")
        end

        def session
          require_relative "session"

          @session ||= Session.new(context, options)
        end

        def plans(words) = session.plans(words | options.fetch(:groups, []))

        # @yieldparam plan [Plan]
        # @yieldreturn [Array<String>] objections
        # @return [Boolean] whether nothing is in the way
        def agreed?(plans, &objections)
          found = plans.flat_map(&objections)
          return true if found.empty?

          warn_user(*found)
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
