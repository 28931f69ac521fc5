# frozen_string_literal: true

require_relative "growth"
require_relative "random_nemesis"

module Penstock
  module TestSupport
    module FaultRuns
      # All kinds of work at the same time under all faults in a random order. Called in a {Scene}.
      class Soak
        # Some groups notice a dead member soon, the others have the default session timeout.
        SHORT = {short_session: true}.freeze

        # @param scene [Scene]
        # @param seconds [Numeric]
        # @param seed [Integer]
        # @param rate [Integer] records per second and application
        def initialize(scene, seconds:, seed:, rate: 50)
          @scene = scene
          @seconds = seconds
          @rate = rate
          @random = Random.new(seed)
          @nemesis = RandomNemesis.new(scene, random: @random)
          @growth = Growth.new
        end

        def call
          applications
          @scene.begin_all(settle: 5)
          watched
          @nemesis.finish
          @scene.run.say("faults: #{@nemesis.counts.sort.map { |pair| pair.join(" ") }.join(", ")}")
          @scene.expect("i11_growth") { @growth.problems.join("; ") if @growth.problems.any? }
          @scene.finish(drain: 150)
          @scene.run.measured[:growth] = @growth.to_h
        end

        private

        # Checksums are checked, as responses are damaged.
        def common = {rate: @rate, kafka: {"check.crcs": true}}

        def applications
          in_order
          by_key
          @scene.copiers("copy", **common, **SHORT)
          @scene.copiers("copykey", mode: "key", protocol: :eager, **common)
          @scene.consumers("swarm", members: 1, nodes: 2, **common, **SHORT)
          @scene.consumers("processes", mode: "key", run_on: "processes", offsets: "marks", **common)
          @scene.consumers("fibers", mode: "message", run_on: "fibers", **common, **SHORT)
        end

        def in_order
          @scene.consumers("whole", **common, **SHORT)
          @scene.consumers("eager", protocol: :eager, work_ms: 3, **common)
          @scene.consumers("gather", work: "gather", offsets: "manual", **common, **SHORT)
        end

        def by_key
          @scene.failing("key", mode: "key", **common)
          @scene.failing("consumer", mode: "key", protocol: :consumer, **common, **SHORT)
          dead = @scene.run.topic("retry-dead", partitions: 1)
          @scene.consumers("retry", mode: "key", protocol: :consumer, kinds: Scene::TROUBLE, failing: true, dead: dead,
            retries: [300, 1_500], offsets: "marks", **common)
        end

        def watched
          ends = now + @seconds
          until now > ends
            @nemesis.turn
            @growth.sample(@scene.run.applications.flat_map(&:alive)) if now > (@sampled ||= 0) + 2
            @sampled = now if now > @sampled + 2
            Wait.observe_for(0.1)
          end
        end

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end
