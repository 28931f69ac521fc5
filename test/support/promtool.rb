# frozen_string_literal: true

require "open3"
require "tempfile"

module Penstock
  module TestSupport
    # Prometheus' own checker of metrics and rules, which bin/setup takes from Debian's package prometheus. Where it can't be had,
    # {problems} finds none, and the one test that calls {require!} is skipped: the closing line then names what wasn't checked.
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
        path or test.skip("promtool isn't installed (Debian's package prometheus): metrics are read by the tests' parser only")
      end

      # @param text [String] of a scrape
      # @return [Array<String>] what promtool reports
      def problems(text) = run("metrics", stdin_data: text)

      # @param text [String] of a file of rules
      # @return [Array<String>] what promtool reports
      def problems_of_rules(text)
        Tempfile.create(%w[rules .yml]) do |file|
          file.write(text)
          file.close
          run("rules", file.path)
        end
      end

      def run(*arguments, **options)
        return [] unless path
        output, status = Open3.capture2e(path, "check", *arguments, **options)
        status.success? ? [] : output.lines(chomp: true)
      end
    end
  end
end
