# frozen_string_literal: true

%w[../.. ../../../lib].each { |path| $LOAD_PATH.unshift(File.expand_path(path, __dir__)) }

require "optparse"
require "penstock"
require_relative "campaign"

module Penstock
  module TestSupport
    module Sim
      # `bin/test sim --seeds N [--from S]`: long runs; `bin/test sim --seed S`, `bin/test sim --plan FILE [--trace]`: replays.
      class Command
        def initialize(arguments)
          @seeds = nil
          @seconds = nil
          @from = 1
          @plan = nil
          @trace = @quick = @twice = false
          parser.parse!(arguments)
        end

        # @return [Integer] exit code
        def call = (@plan || @seeds == 1) ? replay : campaign

        private

        def parser
          OptionParser.new do |options|
            options.on("--seeds N", Integer, "how many seeds") { |seeds| @seeds = seeds }
            options.on("--seconds N", Float, "or for how long") { |seconds| @seconds = seconds }
            options.on("--from S", Integer, "the first seed") { |seed| @from = seed }
            options.on("--seed S", Integer, "this one, with all its steps") { |seed| @seeds, @from = 1, seed }
            options.on("--plan FILE", "run one plan that was saved") { |path| @plan = Plan.parse(File.read(path)) }
            options.on("--quick", "don't make a failing plan smaller") { @quick = true }
            options.on("--twice", "run each seed twice and compare (else 1 in 50)") { @twice = true }
            options.on("--trace", "print every step") { @trace = true }
          end
        end

        def replay
          plan = @plan || Plan.draw(@from)
          world = World.new(plan, traced: @trace)
          violation = world.run
          puts plan, world.lines, violation || "#{world.timeline.steps} events, no violation"
          violation ? 1 : 0
        end

        def campaign
          seconds = @seconds || (60 unless @seeds)
          campaign = Campaign.new(from: @from, seeds: @seeds, seconds: seconds, shrink: !@quick, twice: @twice)
          problem = campaign.call
          puts campaign, problem
          return 1 if problem
          missing = campaign.coverage.missing(campaign.seeds)
          missing = [] if @seeds && @seeds < Coverage::ENOUGH # few seeds, on purpose
          puts "too seldom: #{missing.join(", ")}" unless missing.empty?
          missing.empty? ? 0 : 1
        end
      end
    end
  end
end

exit Penstock::TestSupport::Sim::Command.new(ARGV).call if $PROGRAM_NAME == __FILE__
