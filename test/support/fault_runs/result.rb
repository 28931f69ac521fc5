# frozen_string_literal: true

require "json"

module Penstock
  module TestSupport
    module FaultRuns
      # The result of a run: whether it passed, what was wrong, and figures. Written as JSON, from which the table of
      # docs/reliability.md is made.
      class Result
        SHOWN = 4

        # @return [Array<Checker::Violation>]
        attr_reader :violations

        # @param run [Run]
        # @param checker [Checker]
        # @param problems [Array<Checker::Violation>] found in addition to the checker's
        def initialize(run, checker, problems)
          @run = run
          @checker = checker
          @violations = problems + checker.violations
        end

        def passed? = @violations.empty?

        # @return [Hash]
        def to_h
          stalls = figures.values.filter_map { |one| one[:stall]&.fetch(:seconds) }
          {passed: passed?, produced: @checker.produced, applications: figures,
           duplicates: @checker.duplicates.values.flat_map(&:to_a).each_with_object(Hash.new(0)) { |(cause, count), all|
             all[cause] += count
           },
           longest_stall_s: stalls.max, faults: @run.chronicle.faults.map(&:kind).tally, measured: @run.measured,
           violations: @violations.group_by(&:check).transform_values { |list|
             {count: list.size, first: list.first(SHOWN).map(&:to_s)}
           }}
        end

        # @return [String] for people
        def to_s
          lines = figures.map { |name, one| "  #{name}: #{one[:done]} of #{one[:records]} done#{stall_text(one[:stall])}" }
          lines << "  duplicates: #{to_h[:duplicates].map { |pair| pair.join(" ") }.join(", ")}" if to_h[:duplicates].any?
          @violations.group_by(&:check).each do |check, list|
            lines.push("  #{list.size} × #{check}", *list.first(SHOWN).map { |one| "      #{one}" })
          end
          lines.join("\n")
        end

        private

        def figures = @figures ||= @checker.figures

        def stall_text(stall)
          return "" unless stall
          faults = @run.chronicle.during(stall[:from], stall[:until]).map { |fault| "#{fault.kind} #{fault.target}".strip }
          during = ", during #{faults.uniq.last(4).join(", ")}" if faults.any?
          ", longest stall #{stall[:seconds]} s (#{stall[:partition]}#{during})"
        end
      end
    end
  end
end
