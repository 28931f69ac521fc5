# frozen_string_literal: true

module Penstock
  module Checks
    # Rows of the feature list are covered by tests whose names begin with the row's text in square brackets. `bin/check
    # rows` prints row, test and the kinds in which the test runs.
    class Rows
      TEST = /\A\s*(?:test|rule)[ (]["'](?<rows>(?:\[[^\]]+\]\s*)+)(?<rule>.*)["']/

      # @return [Hash{String => Array<(String, String)>}] path and name of each row's tests
      def to_h
        files = Dir["test/**/*_{test,contract}.rb"].sort
        @rows ||= files.each_with_object(Hash.new { |hash, key| hash[key] = [] }) do |path, rows|
          File.foreach(path) do |line|
            match = TEST.match(line)
            match && match[:rows].scan(/\[([^\]]+)\]/) { |(row)| rows[row] << [path, match[:rule]] }
          end
        end
      end

      def report(out)
        rows = to_h
        rows.sort.each do |row, tests|
          out.puts row
          tests.each { |path, rule| out.puts "  #{path.split("/")[1].ljust(9)} #{path}: #{rule}" }
        end
        out.puts "", "#{rows.size} rows, #{rows.values.sum(&:size)} tests"
      end
    end
  end
end
