# frozen_string_literal: true

require "test_helper"
require "penstock/native/ledger"
require "support/reference_ledger"

module Penstock
  module Native
    # The ledger in C against the plain one: random sequences of everything that can happen to a lane; every reader is compared
    # after every step. LEDGER_SEED=n repeats one sequence; LEDGER_SEQUENCES sets their number.
    class LedgerPropertyTest < TestCase
      # Fewer under a memory checker: each is slow there.
      SEQUENCES = Integer(ENV.fetch("LEDGER_SEQUENCES") { 1_000 / (Integer(ENV.fetch("PENSTOCK_TIME_FACTOR", 1))**2) })
      STEPS = 30
      READERS = %i[base tail known? dry? incomplete span first_incomplete incomplete_offsets].freeze
      Records = Struct.new(:offsets) do
        def size = offsets.size

        def offset(index) = offsets[index]
      end

      test "in any order of steps the ledger in C agrees with the plain one" do
        seeds = ENV["LEDGER_SEED"] ? [Integer(ENV["LEDGER_SEED"])] : Array.new(SEQUENCES) { |index| index + first_seed }
        seeds.each { |seed| Sequence.new(self, seed).run }
      end

      # One sequence of steps on both ledgers.
      class Sequence
        def initialize(test, seed, spread: nil)
          @test = test
          @seed = seed
          @random = Random.new(seed)
          @spread = spread || [1, 2, 5, 100, 1_000_000].sample(random: @random)
          base = [nil, 0, 63, 64, @random.rand(2**@random.rand(1..61))].sample(random: @random)
          @ours = Ledger.new(base)
          @plain = TestSupport::ReferenceLedger.new(base)
          @log = ["new #{base.inspect}"]
        end

        def run
          restore if @random.rand(2).zero?
          compare
          STEPS.times { step }
        end

        private

        def step
          before = @said
          version = @ours.version
          send(STEP_NAMES.sample(random: @random))
          compare
          check_version(before, version)
        end

        STEP_NAMES = %i[
          dense dense sparse sparse batch empty_span discontinuous complete complete complete complete complete complete
          complete many many head through through outside anew
        ].freeze

        def tail = @plain.tail || 0

        def dense = both(:admit, tail, tail + @random.rand(1..100))

        def sparse
          offsets, to = some_offsets
          both(:admit, tail, to, offsets)
        end

        def batch
          offsets, to = some_offsets
          both(:admit_batch, tail, to, Records.new(offsets))
        end

        def empty_span = both(:admit, tail, tail + @random.rand(0..3), [])

        def discontinuous
          return unless @plain.known?
          both(:admit, tail + 1, tail + 3)
          both(:admit, tail, tail - 1)
          both(:admit, tail, tail + 3, [tail, tail])
          both(:admit, tail, tail + 3, [tail + 3])
        end

        def complete = both(:complete, any_incomplete)

        def many = both(:complete_many, @plain.incomplete_offsets.sample(@random.rand(40), random: @random))

        def head = both(:complete, @plain.first_incomplete || tail)

        def through = both(:complete_through, (@random.rand(4).zero? ? tail + 5 : any_incomplete) + @random.rand(0..1))

        def outside
          [tail, tail + 1, (@plain.base || 1) - 1, 0].each { |offset| both(:complete, offset) }
        end

        def anew
          return unless @random.rand(4).zero?
          both(:reset, [nil, @random.rand(100_000)].sample(random: @random))
          restore if @random.rand(2).zero?
        end

        def restore
          return unless @plain.known?
          at = tail
          ranges = Array.new(@random.rand(6)) { [at += @random.rand(1..@spread), at += @random.rand(1..(@spread * 20))] }
          both(:restore, ranges.each_cons(2).reject { |left, right| left[1] == right[0] }.map(&:last))
        end

        def some_offsets
          at = tail - 1
          offsets = Array.new(@random.rand(0..40)) { at += @random.rand(1..@spread) }
          [offsets, at + 1 + @random.rand(3)]
        end

        def any_incomplete = @plain.incomplete_offsets.sample(random: @random) || tail

        def both(name, *arguments)
          @log << "#{name} #{arguments.map(&:inspect).join(", ")}"
          same(answer(@plain, name, arguments), answer(@ours, name, arguments), name)
        end

        def answer(ledger, name, arguments)
          result = ledger.public_send(name, *arguments)
          %i[reset restore].include?(name) ? nil : result
        rescue LaneDiscontinuity, ArgumentError => error
          error.class
        end

        def compare
          READERS.each { |name| same(@plain.public_send(name), @ours.public_send(name), name) }
          @said = [@plain.committable, @plain.ranges]
          same(@said, [@ours.committable, @ours.ranges], :ranges)
          limit = @random.rand(5)
          same(@said.last.first(limit), @ours.ranges(limit), :ranges)
          same(@plain.incomplete_offsets(limit), @ours.incomplete_offsets(limit), :incomplete_offsets)
          from, to = probes.sample(2, random: @random)
          same(@plain.incomplete_between(from, to), @ours.incomplete_between(from, to), "incomplete_between(#{from}, #{to})")
          probes.each { |offset| same(@plain.complete?(offset), @ours.complete?(offset), "complete?(#{offset})") }
        end

        def probes
          around = [@plain.base || 0, tail, any_incomplete, *@said.last.first(2).flatten]
          around.flat_map { |offset| [offset - 1, offset, offset + 1] }.reject(&:negative?)
        end

        def check_version(before, version)
          return if before == @said
          @test.assert_operator @ours.version, :>, version, told("version")
        end

        def same(expected, actual, what)
          return @test.pass if expected == actual
          @test.flunk told("#{what}: #{actual.inspect} instead of #{expected.inspect}")
        end

        def told(what) = "LEDGER_SEED=#{@seed}: #{what}, after\n  #{@log.last(40).join("\n  ")}"
      end

      private

      def first_seed = @first_seed ||= Integer(ENV.fetch("LEDGER_FIRST_SEED", 1))
    end
  end
end
