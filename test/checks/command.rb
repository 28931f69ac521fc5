# frozen_string_literal: true

require_relative "classes"
require_relative "dependencies"
require_relative "documentation"
require_relative "layers"
require_relative "mirror"
require_relative "prose"
require_relative "rows"
require_relative "security_audit"
require_relative "sizes"
require_relative "style"
require_relative "tidiness"

module Penstock
  module Checks
    # bin/check: runs all checks, or those that are named.
    class Command
      ALL = [Layers, Sizes, Classes, Mirror, Tidiness, Dependencies, Documentation, Prose, Style, SecurityAudit].freeze
      SHOWN = 40

      def initialize(names)
        @names = names
      end

      # @return [Integer] the exit code: 0 when nothing failed
      def call
        return rows if @names == ["rows"]

        answers = chosen.map { |check| [check, tell(check)] }
        report(answers.map(&:last))
      end

      private

      def chosen
        return ALL if @names.empty?

        known = ALL.to_h { |check| [check.title.tr(" ", "-"), check] }
        @names.map do |name|
          known.fetch(name) { abort("bin/check: no check #{name.inspect}; there are #{known.keys.join(", ")}, rows") }
        end
      end

      def tell(check)
        answer = check.new.call
        puts "#{word(answer).ljust(8)} #{check.title}#{": #{answer.figures}" if answer.figures}"
        puts answer.problems.first(SHOWN).map { |problem| "         #{problem}" }
        puts "         … and #{answer.problems.size - SHOWN} more" if answer.problems.size > SHOWN
        puts "         #{answer.unknown}" if answer.unknown
        $stdout.flush
        answer
      end

      def word(answer)
        return "ok" if answer.passed?

        answer.problems.empty? ? "UNKNOWN" : "FAILED"
      end

      def report(answers)
        failed = answers.count { |answer| answer.problems.any? }
        unknown = answers.count { |answer| answer.problems.empty? && answer.unknown }
        puts "checks: #{answers.count(&:passed?)} passed, #{failed} failed, #{unknown} could not be made here"
        failed.zero? ? 0 : 1
      end

      def rows
        Rows.new.report($stdout)
        0
      end
    end
  end
end

exit Penstock::Checks::Command.new(ARGV).call if $PROGRAM_NAME == __FILE__
