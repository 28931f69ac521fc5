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
        AT_ONCE = 3

        # @param selection [Array<(Kind, Array<String>)>] kinds with the files chosen of each
        def initialize(selection, leg:, out: $stdout)
          @selection = selection
          @leg = leg
          @out = out
          @kafka = Kafka.new(out)
          @tally = Tally.new
          @lock = Mutex.new
        end

        # @return [Boolean] whether nothing failed
        def call
          @leg.prepare
          FileUtils.rm_rf(RESULTS)
          FileUtils.mkdir_p(RESULTS)
          runs.chunk_while { |one, other| one.first.beside && other.first.beside }.each { |group| run_group(group) }
          @leg.findings.each { |finding| @tally.fail(finding) }
          @tally.report(@out)
          @tally.success?
        ensure
          @kafka.stop
        end

        private

        # @return [Array<(Kind, Array<String>)>] the files of each process that is started
        def runs
          @selection.flat_map do |kind, files|
            next kind.runs(files).map { |run| [kind, run] } unless kind.broker == :needed && !@kafka.bootstrap_servers

            @tally.skip(kind.count(files), "#{kind.name} tests, no real Kafka: set KAFKA_HOME or KAFKA_BOOTSTRAP_SERVERS")
            []
          end
        end

        def run_group(group)
          return run_files(*group.first) if group.size == 1

          @kafka.env if group.any? { |kind, _files| kind.broker }
          waiting = group.dup
          Array.new(AT_ONCE) do
            Thread.new do
              while (run = waiting.shift)
                run_aside(*run)
              end
            end
          end.each(&:join)
        end

        def run_files(kind, files)
          @out.puts("", "== #{name_of(kind, files)}")
          @out.flush
          done(kind, files, Child.run(command(files), **limits(kind, files)))
        end

        # What it prints is shown when it has ended, so that they don't talk at once.
        def run_aside(kind, files)
          log = result_of(kind, files).sub(/json\z/, "log")
          child = Child.run(command(files), **limits(kind, files), out: log, err: %i[child out])
          @lock.synchronize do
            @out.puts("", "== #{name_of(kind, files)}", File.read(log))
            @out.flush
            done(kind, files, child)
          end
        end

        def limits(kind, files)
          {timeout: @leg.timeout(kind.timeout_seconds), env: env(kind, result_of(kind, files))}
        end

        def done(kind, files, child)
          @tally.add(name_of(kind, files), child, result_of(kind, files))
          @tally.note(name_of(kind, files), child.seconds)
        end

        def name_of(kind, files)
          kind.per_file ? files.first.delete_prefix("test/").delete_suffix("_test.rb") : kind.name
        end

        def result_of(kind, files) = File.join(RESULTS, "#{name_of(kind, files).tr("/", "-")}.json")

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
