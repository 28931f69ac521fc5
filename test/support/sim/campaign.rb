# frozen_string_literal: true

require "fileutils"
require_relative "shrinker"
require_relative "world"

module Penstock
  module TestSupport
    module Sim
      # Runs many seeds, one after another, until a number or a time is reached or one fails. Every so often a seed is
      # run a second time, and its trace must be the same. Sums up the coverage.
      #
      # A run that is limited by time, or has many seeds, continues with plans that aim at what has not occurred often enough:
      # neither the CPU time it had nor chance must decide whether it proves something.
      class Campaign
        TWICE_EVERY = 50
        # A run leaves no more than a few megabytes. By default the collector would scan everything once per seed, which
        # is a sixth of the time.
        COLLECT_EVERY = 8
        COLLECT_ALL_EVERY = 64
        # Reaching enough of every situation takes half of that.
        MOST_AIMED = 1_000
        FAILED = File.expand_path("../../../tmp/sim", __dir__)
        private_constant :TWICE_EVERY, :COLLECT_EVERY, :COLLECT_ALL_EVERY, :MOST_AIMED, :FAILED

        attr_reader :coverage, :seeds, :steps

        # @param from [Integer] first seed
        # @param seeds [Integer, nil] how many
        # @param seconds [Numeric, nil] or for how long
        # @param shrink [Boolean] whether a failing plan is made smaller
        # @param twice [Boolean] whether every seed is run twice
        def initialize(from:, seeds: nil, seconds: nil, shrink: true, twice: false)
          @shrink = shrink
          @twice_every = twice ? 1 : TWICE_EVERY
          @from = from
          @most = seeds || Float::INFINITY
          @seconds = seconds
          @coverage = Coverage.new
          @seeds = @aimed = 0
          @steps = 0
        end

        # @return [String, nil] what failed, with the command that repeats it
        def call
          @began = now
          GC.disable
          problem = run(Plan.draw(next_seed)) until problem || @seeds >= @most || over?
          problem || fill
        ensure
          GC.enable
          @took = now - @began
        end

        # @return [String]
        def to_s
          format("seeds %d to %d (the last %d aimed), 1 in %d run twice, %d events, %.1f s, %.1f ms a seed\n%s", @from,
            @from + @seeds - 1, @aimed, @twice_every, @steps, @took, @took * 1_000 / [@seeds, 1].max, @coverage)
        end

        private

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
        def over? = @seconds && now - @began >= @seconds
        def next_seed = @from + @seeds

        # @return [String, nil] as {#call}
        def fill
          return if @seconds.nil? && (!@shrink || @most < Coverage::ENOUGH)
          until @aimed >= MOST_AIMED || (scarce = @coverage.scarcest(@seeds)).nil?
            @aimed += 1
            problem = run(Plan.draw(next_seed, aim: scarce))
            return problem if problem
          end
        end

        def collect
          GC.start(full_mark: (@seeds % COLLECT_ALL_EVERY).zero?) if (@seeds % COLLECT_EVERY).zero?
        end

        def run(plan)
          world = World.new(plan)
          violation = world.run
          return failed(plan, violation) if violation
          @coverage.merge(world.coverage)
          @steps += world.timeline.steps
          @seeds += 1
          collect
          differs(plan, world) if (@seeds % @twice_every).zero?
        end

        def differs(plan, first)
          again = World.new(plan)
          again.run
          return if again.digest == first.digest && again.timeline.steps == first.timeline.steps
          "seed #{plan.seed}: two runs differ: something in the run doesn't depend on the seed only"
        end

        def failed(plan, violation)
          small = @shrink ? Shrinker.new(plan, violation).call : plan
          path = File.join(FAILED, "#{plan.seed}.json")
          FileUtils.mkdir_p(FAILED)
          File.write(path, small.to_json)
          <<~TEXT
            seed #{plan.seed}: #{violation}
              again:    bin/test sim --seed #{plan.seed}#{" (without what it aimed at)" if @aimed.positive?}
              smaller:  bin/test sim --plan #{path.delete_prefix("#{Dir.pwd}/")} --trace
              #{small.to_s.gsub("\n", "\n  ")}
          TEXT
        end
      end
    end
  end
end
