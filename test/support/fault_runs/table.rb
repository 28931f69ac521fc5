# frozen_string_literal: true

require "json"

module Penstock
  module TestSupport
    module FaultRuns
      # A Markdown table of the last results of all cases, from the files that {Suite} writes.
      class Table
        HEAD = ["| case | fault | passes when | part | rounds passed | records | longest stall | processed again, and why |",
          "| --- | --- | --- | --- | --- | --- | --- | --- |"].freeze

        # @param cases [Hash{String => Case}]
        # @param folder [String]
        def initialize(cases, folder)
          @cases = cases
          @results = Dir[File.join(folder, "*.json")].map { |path| JSON.parse(File.read(path), symbolize_names: true) }
            .group_by { |result| result.values_at(:name, :part) }
        end

        def to_s = [*HEAD, *@cases.flat_map { |name, one| rows(name, one) }].join("\n")

        private

        def rows(name, one)
          return [row(name, one.about, one.passes, "not run: #{one.missing}", nil)] if one.missing

          one.parts.map.with_index do |part, index|
            first = index.zero? ? [name, one.about, one.passes] : ["", "", ""]
            row(*first, part.name, @results[[name, part.name]])
          end
        end

        def row(name, about, passes, part, results)
          "| #{[name, about, passes, part, *figures(results)].join(" | ")} |"
        end

        def figures(results)
          return ["not run", "", "", ""] unless results
          return [state(results), tests(results), "", ""] unless results.first[:details].key?(:produced)

          details = results.map { |result| result[:details] }
          [state(results), details.sum { |one| one.dig(:produced, :intended).to_i },
            details.filter_map { |one| one[:longest_stall_s] }.max&.then { |seconds| "#{seconds} s" }, twice(details)]
        end

        def state(results)
          passed = results.count { |result| result[:state] == "passed" }
          (results.first[:state] == "skipped") ? "skipped" : "#{passed} of #{results.size}"
        end

        def tests(results)
          counts = results.filter_map { |result| result.dig(:details, :passed) }
          counts.empty? ? "" : "#{counts.sum} tests"
        end

        def twice(details)
          sums = details.flat_map { |one| one.fetch(:duplicates, {}).to_a }.each_with_object(Hash.new(0)) do |(cause, count), all|
            all[cause] += count
          end
          sums.map { |cause, count| "#{count} #{cause}" }.join(", ")
        end
      end
    end
  end
end
