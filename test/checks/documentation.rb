# frozen_string_literal: true

require_relative "check"

module Penstock
  module Checks
    # Every public object is documented: YARD reads the files that .yardopts lists. Not counted are `@api private`, the
    # handlers of LoggerListener (named by their events, see docs/events.md) and inspect.
    class Documentation < Check
      private

      def problems
        return ["yard failed: #{output.lines.last(5).join}"] unless percentage
        return [] if percentage >= 100 && warnings.empty?

        warnings + output[/^Undocumented Objects:.*/m].to_s.lines(chomp: true).reject(&:empty?)
      end

      def figures
        "#{percentage} % of the public API"
      end

      def percentage
        output[/([\d.]+)% documented/, 1]&.to_f
      end

      def warnings
        output.lines(chomp: true).grep(/\A\[(?:warn|error)\]/)
      end

      def output
        @output ||= run("bundle", "exec", "yard", "stats", "--list-undoc", "--no-cache", "--no-save", "--no-progress").first
      end
    end
  end
end
