# frozen_string_literal: true

require "fileutils"
require_relative "../child"
require_relative "../kafka_cluster"
require_relative "bundle"
require_relative "kafka"
require_relative "kinds"
require_relative "legs"
require_relative "rails"
require_relative "tally"

module Penstock
  module TestSupport
    module Runner
      # Runs the chosen kinds, each part in an OS process of its own, and adds up their results. Tests mostly wait, so
      # more of them run at the same time than there are cores, but only a few of those that compute; those that measure
      # time run alone, after the others.
      class Run
        RESULTS = File.expand_path("tmp/results")

        # @param selection [Array<(Kind, Array<String>)>] kinds with the files chosen of each
        # @param rails [RailsBundles] versions for the tests of the kind `rails`
        def initialize(selection, leg:, rails: RailsBundles.new(all: false), out: $stdout)
          @selection = selection
          @rails = rails
          @leg = leg
          @out = out
          @kafka = Kafka.new(out)
          @tally = Tally.new
          @lock = Mutex.new
        end

        # @return [Boolean] whether nothing failed
        def call
          @leg.prepare
          make_folder
          @bundle = Bundle.new(@folder).env
          start_kafka
          @rails.start if @selection.any? { |kind, _files| rails?(kind) }
          alone, beside = parts.partition(&:alone?)
          run_beside(beside)
          alone.each { |part| run_shown(part) }
          @leg.findings.each { |finding| @tally.fail(finding) }
          @tally.report(@out)
          @tally.success?
        ensure
          @kafka.stop
        end

        private

        # Another run may use the same tree at the same time; the remains of ended runs are removed.
        def make_folder
          Dir.children(FileUtils.mkdir_p(RESULTS).first).each do |name|
            FileUtils.rm_rf(File.join(RESULTS, name)) unless File.exist?("/proc/#{name}")
          end
          @folder = File.join(RESULTS, ::Process.pid.to_s)
          FileUtils.mkdir_p(@folder)
        end

        # While it starts, tests run that need no broker.
        def start_kafka
          return unless @selection.any? { |kind, _files| kind.shared_broker? } && @kafka.obstacle.nil?

          @starting = Thread.new { @kafka.env }
          @starting.report_on_exception = false
        end

        def parts
          all = @selection.flat_map do |kind, files|
            obstacle = obstacle(kind)
            next kind.parts(files, variants(kind)) unless obstacle

            @tally.skip(kind.count(files), "#{kind.name} tests, #{obstacle}")
            []
          end
          all.sort_by.with_index { |part, index| [*part.rank, index] }
        end

        def rails?(kind) = kind.name == "rails"

        def variants(kind) = rails?(kind) ? @rails.versions : [nil]

        # @return [String, nil] why tests of a kind can't run here
        def obstacle(kind)
          case kind.broker
          when :needed then @kafka.obstacle && "no real Kafka: set KAFKA_HOME or KAFKA_BOOTSTRAP_SERVERS"
          when :cluster then KafkaCluster.obstacle&.then { |why| "no three brokers (they need KAFKA_HOME): #{why}" }
          end
        end

        def run_beside(parts)
          return parts.each { |part| run_shown(part) } if parts.size < 2

          busy, quiet = parts.partition(&:busy?)
          Array.new(@leg.at_once) do |index|
            Thread.new { run_all(*((index < @leg.busy_at_once) ? [busy, quiet] : [quiet, busy])) }
          end.each(&:join)
        end

        def run_all(*queues)
          while (part = queues.lazy.filter_map(&:shift).first)
            run_aside(part) unless skipped?(part)
          end
        end

        # Whether a version of Rails is missing.
        def skipped?(part)
          return false unless rails?(part.kind)

          obstacle = @rails.obstacle(part.variant) or return false
          @lock.synchronize { @tally.skip(part.kind.count(part.files), "rails tests, #{obstacle}") }
          true
        end

        def run_shown(part)
          return if skipped?(part)

          @out.puts("", "== #{part.name}")
          @out.flush
          done(part, Child.run(command(part.files), **limits(part)))
        end

        # Its output is shown when it has ended, so that outputs don't mix.
        def run_aside(part)
          log = result_of(part).sub(/json\z/, "log")
          child = Child.run(command(part.files), **limits(part), out: log, err: %i[child out])
          @lock.synchronize do
            @out.puts("", "== #{part.name}", File.read(log))
            @out.flush
            done(part, child)
          end
        end

        def limits(part)
          {timeout: @leg.timeout(part.kind.timeout_seconds), env: env(part)}
        end

        def done(part, child)
          @tally.add(part.name, child, result_of(part))
        end

        def result_of(part) = File.join(@folder, "#{part.name.tr("/", "-")}.json")

        def command(files)
          load_path = [*@leg.load_path, "lib", "test"].map { |path| "-I#{File.expand_path(path)}" }
          loader = "ARGV.each { |file| require file }; ARGV.clear"
          [*@leg.ruby, *load_path, "-e", loader, *files.map { |file| File.expand_path(file) }]
        end

        def env(part)
          @starting&.value if part.kind.shared_broker?
          kafka = part.kind.shared_broker? ? @kafka.env : {}
          kafka = kafka.merge("PENSTOCK_RAILS" => part.variant) if rails?(part.kind)
          kafka.merge(@bundle, @leg.env, "PENSTOCK_TEST_RESULT" => result_of(part))
        end
      end
    end
  end
end
