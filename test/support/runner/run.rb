# frozen_string_literal: true

require "fileutils"
require_relative "../child"
require_relative "kafka"
require_relative "kinds"
require_relative "legs"
require_relative "tally"

module Penstock
  module TestSupport
    module Runner
      # Runs the chosen kinds, each file list in an OS process of its own, and adds up what they report.
      class Run
        RESULTS = File.expand_path("tmp/results")

        # @param selection [Array<(Kind, Array<String>)>] kinds with the files chosen of each
        def initialize(selection, leg:, out: $stdout)
          @selection = selection
          @leg = leg
          @out = out
          @kafka = Kafka.new(out)
          @tally = Tally.new
        end

        # @return [Boolean] whether nothing failed
        def call
          @leg.prepare
          FileUtils.rm_rf(RESULTS)
          FileUtils.mkdir_p(RESULTS)
          @selection.each { |kind, files| run_kind(kind, files) }
          @leg.findings.each { |finding| @tally.fail(finding) }
          @tally.report(@out)
          @tally.success?
        ensure
          @kafka.stop
        end

        private

        def run_kind(kind, files)
          if kind.broker == :needed && !@kafka.bootstrap_servers
            return @tally.skip(kind.count(files), "#{kind.name} tests, no real Kafka: set KAFKA_HOME or " \
                                                  "KAFKA_BOOTSTRAP_SERVERS")
          end

          kind.runs(files).each { |run| run_files(kind, run) }
        end

        def run_files(kind, files)
          name = kind.per_file ? files.first.delete_prefix("test/").delete_suffix("_test.rb") : kind.name
          result = File.join(RESULTS, "#{name.tr("/", "-")}.json")
          @out.puts("", "== #{name}")
          @out.flush
          child = Child.run(command(files), timeout: @leg.timeout(kind.timeout_seconds), env: env(kind, result))
          @tally.add(name, child, result)
          @tally.note(name, child.seconds)
        end

        def command(files)
          load_path = [*@leg.load_path, "lib", "test"].map { |path| "-I#{File.expand_path(path)}" }
          loader = "ARGV.each { |file| require file }; ARGV.clear"
          [*@leg.ruby, *load_path, "-e", loader, *files.map { |file| File.expand_path(file) }]
        end

        def env(kind, result)
          kafka = kind.broker ? @kafka.env : {}
          kafka.merge(@leg.env).merge("PENSTOCK_TEST_RESULT" => result)
        end
      end
    end
  end
end
