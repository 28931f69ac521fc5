# frozen_string_literal: true

require "fileutils"
require "optparse"
require_relative "../child"
require_relative "kafka"
require_relative "tally"

module Penstock
  module TestSupport
    module Runner
      # bin/ledger: faults that are put into running systems, each by its number. What runs are tests of the tree; this is the
      # list of which of them show which fault, longest forms included.
      class Ledger
        # A file, which of its tests, and what its environment says besides.
        Part = Struct.new(:file, :only, :broker, :env) do
          def name = [file.delete_prefix("test/").delete_suffix("_test.rb"), only].compact.join(" ")

          def command
            loader = [RbConfig.ruby, "-Ilib", "-Itest", file]
            only ? [*loader, "-n", "/#{only}/"] : loader
          end
        end

        Scenario = Struct.new(:about, :parts)

        def self.part(name, only = nil, broker: false, env: {}) = Part.new("test/#{name}_test.rb", only, broker, env)
        def self.swarm(only) = part("ledger/swarm", only, broker: true)
        private_class_method :part, :swarm

        SCENARIOS = {
          "T01" => ["nodes are killed at random, processes at named points",
            [swarm("T01"), part("ledger/faults", broker: true)]],
          "T02" => ["a node is stopped past its session, and comes back", [swarm("T02")]],
          "T03" => ["the supervisor is frozen", [swarm("T03")]],
          "T04" => ["the supervisor is killed", [part("ledger/ends", "T04")]],
          "T05" => ["nodes beyond their limits of memory, jobs and age", [swarm("T05")]],
          "T06" => ["a process gets the number of a node that has died", [part("process/recycled_pid")]],
          "T07" => ["nodes die at boot, always", [part("ledger/ends", "T07")]],
          "T08" => ["restarts by the hundred; a million frames of rubbish",
            [swarm("T08"), part("unit/swarm/frame", env: {"PENSTOCK_FUZZ_FRAMES" => "1000000"})]],
          "T09" => ["TERM in the middle of batches", [swarm("T09"), part("broker/restarts", "TERM", broker: true)]],
          "T10" => ["TERM, twice, and with INT, at any time",
            [swarm("T10"), part("ledger/ends", "T10"), part("process/signals")]],
          "T11" => ["a job longer than the stop's time", [part("ledger/ends", "T11")]],
          "T17" => ["a job longer than max.poll.interval.ms", [part("broker/long_job", broker: true)]],
          "T19" => ["records that kill the process", [part("ledger/killers", broker: true)]],
          "T26" => ["a transactional copier is killed at six points", [part("ledger/copiers", "killed at six", broker: true)]],
          "T27" => ["a frozen owner of transactions returns", [part("ledger/copiers", "frozen owner", broker: true)]],
          "T29" => ["rebalances within transactions", [part("ledger/copiers", "others come", broker: true)]],
          "T30" => ["a producer's queue is full and the broker stopped: close, fork, TERM",
            [part("native/producer/stopped_broker", broker: true)]],
          "T31" => ["connections are cut each second", [part("ledger/cut_connections", broker: true)]],
          "T34" => ["descriptors, threads, disk, a log to write to: nothing is left",
            [part("ledger/exhaustion"), part("process/exhaustion")]],
          "T35" => ["the wall clock is set", [part("ledger/clock"), part("process/clock")]]
        }.transform_values { |about, parts| Scenario.new(about, parts.freeze) }.freeze

        USAGE = <<~TEXT
          Usage: bin/ledger [NAME…] [--list]

          Puts faults into running systems and checks what became of every record: names as T01, in any case; without one all
          are run, one after another (half an hour). Exit code 0 when nothing failed, 1 when something did, 130 on Ctrl-C.
          What needs a real Kafka and finds none (KAFKA_HOME or KAFKA_BOOTSTRAP_SERVERS) is skipped, and said so.
        TEXT
        LIMIT_SECONDS = 1_800
        FOLDER = File.expand_path("tmp/results")
        private_constant :LIMIT_SECONDS, :FOLDER

        # @param arguments [Array<String>]
        # @param out [IO]
        def initialize(arguments, out: $stdout)
          @out = out
          @kafka = Kafka.new(out)
          @tally = Tally.new
          @arguments = arguments
        end

        # @return [Integer] the exit code
        def call
          names = parser.parse(@arguments).map(&:upcase).uniq
          return tell(0, list) if @list
          return tell(0, USAGE) if @help
          unknown = names - SCENARIOS.keys
          return tell(1, "bin/ledger: there is no #{unknown.join(", ")}\n#{list}") if unknown.any?

          run(names.empty? ? SCENARIOS.keys : names)
        rescue OptionParser::ParseError => error
          tell(1, "bin/ledger: #{error.message}\n#{USAGE}")
        rescue Interrupt
          tell(130, "interrupted")
        ensure
          @kafka.stop
        end

        private

        def parser
          OptionParser.new(USAGE) do |options|
            options.on("--list", "what there is") { @list = true }
            options.on("-h", "--help", "this") { @help = true }
          end
        end

        def list
          SCENARIOS.map do |name, scenario|
            "#{name}  #{scenario.about}\n#{scenario.parts.map { |part| "       #{part.name}\n" }.join}"
          end.join
        end

        def tell(code, text)
          @out.puts(text)
          code
        end

        def run(names)
          FileUtils.mkdir_p(FOLDER)
          names.each { |name| SCENARIOS.fetch(name).parts.each { |part| measure(name, part) } }
          @tally.report(@out)
          @tally.success? ? 0 : 1
        end

        def measure(name, part)
          @out.puts("", "== #{name}: #{part.name}")
          @out.flush
          result = File.join(FOLDER, "ledger-#{::Process.pid}.json")
          FileUtils.rm_f(result)
          env = {**kafka(part), **part.env, "PENSTOCK_TEST_RESULT" => result}
          @tally.add("#{name} #{part.name}", Child.run(part.command, timeout: LIMIT_SECONDS, env: env), result)
        ensure
          FileUtils.rm_f(result) if result
        end

        def kafka(part) = part.broker ? @kafka.env : {}
      end
    end
  end
end

exit Penstock::TestSupport::Runner::Ledger.new(ARGV).call if $PROGRAM_NAME == __FILE__
