# frozen_string_literal: true

require "optparse"
require_relative "../fault_runs/endurance"
require_relative "../fault_runs/soak"
require_relative "../fault_runs/suite"
require_relative "../fault_runs/table"
require_relative "ledger_usage"

module Penstock
  module TestSupport
    module Runner
      # bin/ledger: runs cases of the fault matrix by their names.
      class Ledger
        USAGE = LEDGER_USAGE

        # @param arguments [Array<String>]
        # @param out [IO]
        def initialize(arguments, out: $stdout)
          @out = out
          @rounds = 1
          @seed = rand(1 << 30)
          @minutes = 10
          @rate = 50
          @options = {}
          @arguments = arguments
        end

        # @return [Integer] the exit code
        def call
          names = parser.parse(@arguments)
          return tell(0, list) if @list
          return tell(0, USAGE) if @help || names.empty?
          return table if names == ["table"]
          return run([soak]) if names == ["soak"]
          return run([growth]) if names == ["growth"]

          unknown = names.map(&:upcase) - %w[ALL SHORT] - cases.keys
          return tell(1, "bin/ledger: there is no #{unknown.join(", ")}\n#{list}") if unknown.any?

          run(names.flat_map { |name| chosen(name.upcase) }.uniq)
        rescue OptionParser::ParseError => error
          tell(1, "bin/ledger: #{error.message}\n#{USAGE}")
        rescue Interrupt
          tell(130, "interrupted")
        ensure
          @suite&.close
        end

        private

        def cases = FaultRuns.cases
        def matrix = cases.select { |name, _case| name.start_with?("T") }

        # @return [Array<FaultRuns::Case>]
        def chosen(name)
          return matrix.values if name == "ALL"
          return (cases.to_a - matrix.to_a).map(&:last) if name == "SHORT"

          [cases.fetch(name)]
        end

        PAGE = "docs/reliability.md"
        PLACE = /(?<=<!-- table -->\n).*(?=<!-- \/table -->)/m
        private_constant :PAGE, :PLACE

        def table
          text = FaultRuns::Table.new(matrix, FaultRuns::Suite::FOLDER).to_s
          return tell(0, text) unless @write

          File.write(PAGE, File.read(PAGE).sub(PLACE) { "#{text}\n" })
          tell(0, "#{PAGE} has the table")
        end

        def soak
          cases # SHORT_SET is in one of their files
          seconds, seed, rate = @minutes * 60, @seed, @rate
          FaultRuns::Case.new("SOAK", "all kinds of work, all faults", passes: "the invariants").tap do |one|
            one.run("#{@minutes} minutes", allowed: FaultRuns::SHORT_SET) do
              FaultRuns::Soak.new(self, seconds: seconds, seed: seed, rate: rate).call
            end
          end
        end

        def growth
          cases
          seconds, rate = @minutes * 60, @rate
          FaultRuns::Case.new("GROWTH", "100 resets and 20 rebalances a minute",
            passes: "the invariants; nothing grows").tap do |one|
            one.run("#{@minutes} minutes", allowed: FaultRuns::WITH_BROKERS) do
              FaultRuns::Endurance.new(self, seconds: seconds, rate: rate).call
            end
          end
        end

        def parser
          OptionParser.new(USAGE) do |options|
            options.on("--list", "list cases and their parts") { @list = true }
            options.on("--seed N", Integer, "seed of the first round; the next round uses the next one") { |seed| @seed = seed }
            options.on("--minutes N", Float, "soak, growth: how long (10)") { |minutes| @minutes = minutes }
            options.on("--rate N", Integer, "soak, growth: records per second and application (50)") { |rate| @rate = rate }
            options.on("--rounds N", Integer, "how often each case runs (1)") { |rounds| @rounds = rounds }
            options.on("--part NAME", "run only this part") { |part| @part = part }
            options.on("--time FACTOR", Float, "scales how long faults last (1.0)") { |time| @options[:time] = time }
            options.on("--write", "table: write it to docs/reliability.md") { @write = true }
            options.on("--keep", "keep journals of passed parts, too") { @options[:keep] = true }
            options.on("-h", "--help", "print this") { @help = true }
          end
        end

        def list
          cases.map do |name, one|
            name = name.ljust(3)
            parts = one.parts.map { |part| "       #{part.name}\n" }.join
            "#{name}  #{one.about}\n#{one.missing ? "       not run: #{one.missing}\n" : parts}"
          end.join
        end

        def tell(code, text)
          @out.puts(text)
          code
        end

        def run(list)
          cases # constants of their files
          @suite = FaultRuns::Suite.new(out: @out, **@options)
          outcomes = list.flat_map do |one|
            (1..@rounds).flat_map { |round| @suite.call(one, seed: @seed + round - 1, round: round, only: @part) }
          end
          report(outcomes)
          (outcomes.any? { |outcome| outcome.state == :failed }) ? 1 : 0
        end

        def report(outcomes)
          @out.puts("")
          outcomes.each do |outcome|
            @out.puts(format("%-8s %-4s %7.1f s  %s", outcome.state, outcome.name, outcome.seconds, outcome.part))
          end
          counts = outcomes.map(&:state).tally
          words = {passed: "passed", failed: "failed", skipped: "skipped", missing: "not run"}
          @out.puts("", words.map { |state, word| "#{counts.fetch(state, 0)} #{word}" }.join(", "))
        end
      end
    end
  end
end

exit Penstock::TestSupport::Runner::Ledger.new(ARGV).call if $PROGRAM_NAME == __FILE__
