# frozen_string_literal: true

require_relative "growth"
require_relative "visitor"

module Penstock
  module TestSupport
    module FaultRuns
      # Members that live for the whole run, while connections are reset and groups rebalance all the time: they must not grow.
      # Called in a {Scene}.
      class Endurance
        RESETS_A_MINUTE = 100
        REBALANCES_A_MINUTE = 20
        # Per hour, once heaps and the allocator's arenas have settled.
        LIMITS = {rss: 1 << 20, fds: 2, threads: 1}.freeze
        WARM_UP_S = 600

        # @param scene [Scene]
        # @param seconds [Numeric] after the warm-up
        # @param rate [Integer] records per second and application
        def initialize(scene, seconds:, rate: 50, warm_up_s: WARM_UP_S)
          @scene = scene
          @seconds = seconds + warm_up_s
          @rate = rate
          @growth = Growth.new(limits: LIMITS, steps: LIMITS, warm_up_s: warm_up_s)
          @counts = Hash.new(0)
        end

        def call
          applications
          @scene.begin_all(settle: 5)
          watch
          @scene.run.say("#{@counts[:reset]} resets of all connections of a broker, #{@counts[:visit]} visits (two " \
            "rebalances each)")
          @scene.expect("i11_growth") { @growth.problems.join("; ") if @growth.problems.any? }
          @scene.finish
          @scene.run.measured[:growth] = @growth.to_h
        end

        private

        def applications
          @scene.consumers("whole", rate: @rate)
          @scene.failing("key", mode: "key", rate: @rate)
          @scene.copiers("copy", rate: @rate)
          @scene.failing("consumer", mode: "key", protocol: :consumer, rate: @rate)
        end

        # One thread: a visitor joins, stays while connections are reset, and leaves.
        def watch
          ends = now + @seconds
          empty = @scene.run.topic("visited", partitions: 1)
          @scene.run.applications.cycle do |application|
            break if now > ends

            visit(application, empty)
            @growth.sample(@scene.run.applications.flat_map(&:alive))
          end
        end

        def visit(application, topic)
          visitor = Visitor.new(@scene.run, application, topic)
          until_s = now + (120.0 / REBALANCES_A_MINUTE)
          resets = (120.0 / REBALANCES_A_MINUTE * RESETS_A_MINUTE / 60).round
          resets.times do |number|
            visitor.leave if number == resets / 2
            reset
            visitor.turn_for([(until_s - now) / (resets - number), 0].max)
          end
          @counts[:visit] += 1
        ensure
          visitor&.leave
        end

        def reset
          @scene.nemesis.reset(broker: @scene.random.rand(1..3))
          @counts[:reset] += 1
        end

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end
