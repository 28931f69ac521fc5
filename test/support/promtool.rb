# frozen_string_literal: true

require "json"
require "open3"
require "tempfile"

module Penstock
  module TestSupport
    # Prometheus' own checker of metrics and rules, which bin/setup takes from Debian's package promtool (Debian 12: prometheus).
    # Where it can't be had, {problems} finds none, and the one test that calls {require!} is skipped: the closing line then
    # names what wasn't checked.
    module Promtool
      FETCHED = File.expand_path("promtool/promtool", ENV.fetch("PENSTOCK_PORTS") { File.expand_path("../../ports", __dir__) })
      private_constant :FETCHED

      module_function

      # @return [String, nil] path of the program
      def path
        found = [ENV["PROMTOOL"], FETCHED, *ENV.fetch("PATH", "").split(":").map { |folder| File.join(folder, "promtool") }]
        found.find { |file| file && File.executable?(file) }
      end

      # @param test [Minitest::Test] skipped if there is no promtool
      def require!(test)
        path or test.skip("promtool isn't installed (Debian's package promtool or prometheus): only the tests' parser is used")
      end

      # @param text [String] of a scrape
      # @return [Array<String>] what promtool reports
      def problems(text) = run("metrics", stdin_data: text)

      # @param text [String] of a file of rules
      # @return [Array<String>] what promtool reports
      def problems_of_rules(text) = with_file(text) { |file| run("rules", file) }

      # Evaluates rules with series of values.
      # @param text [String] of a file of rules
      # @param tests [Array<Hash>] as promtool's unit tests have them
      # @return [Array<String>] what promtool reports: alerts that don't fire, or others than those expected
      def failures_of_rules(text, tests)
        with_file(text) do |rules|
          cases = {rule_files: [rules], evaluation_interval: "1m", tests: tests}
          with_file(JSON.generate(cases)) { |file| run("rules", file, command: "test") }
        end
      end

      def with_file(text)
        Tempfile.create(%w[rules .yml]) do |file|
          file.write(text)
          file.close
          yield file.path
        end
      end

      def run(*arguments, command: "check", **options)
        return [] unless path
        output, status = Open3.capture2e(path, command, *arguments, **options)
        status.success? ? [] : output.lines(chomp: true)
      end
    end
  end
end
