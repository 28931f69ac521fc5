# frozen_string_literal: true

require_relative "run"

module Penstock
  module TestSupport
    module FaultRuns
      # The object in which the block of a {RunPart} is evaluated: a {Run} and the usual ways to fill it.
      class Scene
        include Wait

        # Raised when a case can't be run.
        class Skip < StandardError; end

        # Shares of a thousand.
        TROUBLE = {"poison" => 5, "flaky:1" => 15}.freeze
        RATE = 120
        KEYS = 40

        attr_reader :run

        def initialize(run)
          @run = run
        end

        def cluster = run.cluster
        def nemesis = run.nemesis
        def random = run.random
        def pass(seconds) = run.pass(seconds)
        def rounds(count) = run.rounds(count)
        def expect(...) = run.expect(...)

        # An application in order, by key or by message, with a topic and members of its own.
        # @param members [Integer]
        # @param rate [Integer] records per second
        # @param kinds [Hash] of records
        # @return [Application]
        def consumers(name, members: 2, rate: RATE, kinds: {}, partitions: 6, **plan)
          topic = plan.delete(:topic) || run.topic(name, partitions: partitions)
          feed = {name: topic, rate: rate, keys: KEYS, kinds: kinds, poison_at: plan.delete(:poison_at)}.compact
          (@feeds ||= []) << feed if rate.positive?
          made = run.application(name, topic: topic, **plan)
          (@wanted ||= {})[made] = members
          made
        end

        # An application with failures: dead letters after the second retry.
        def failing(name, **plan)
          dead = run.topic("#{name}-dead", partitions: 1)
          consumers(name, kinds: TROUBLE, failing: true, dead: dead, offsets: "marks", **plan)
        end

        # An application that copies in transactions.
        def copiers(name, **plan)
          out = run.topic("#{name}-out")
          kafka = {"transaction.timeout.ms": 10_000, "message.timeout.ms": 9_000, **plan.delete(:kafka).to_h}
          consumers(name, work: "copy", out: out, transactional: true, offsets: "marks", max_messages: 20, kafka: kafka, **plan)
        end

        # Producers begin, members join, committed offsets are sampled; returns when all members have partitions and
        # records flow.
        # @param settle [Numeric] seconds
        # @param joined [Boolean] whether nothing is produced before all members have partitions: a transaction that runs when
        #   another member joins may be aborted
        def begin_all(settle: 3, joined: false, **feed)
          run.sample
          @wanted.each { |application, count| count.times { application.start } }
          @wanted.each { |application, count| await_work(application, count) if count.positive? } if joined
          run.feed(*@feeds, **feed) if @feeds
          @wanted.each { |application, count| await_work(application, count) if count.positive? }
          run.settled_at = Journal.now
          pass(settle)
        end

        # @param count [Integer] of members; a swarm counts as one, with as many as it has nodes
        def await_work(application, count)
          nodes = application.plan[:nodes].to_i
          run.await_members(application, nodes.positive? ? nodes * count : count)
        end

        # Flips bits of responses, truncates them, changes their length, each for a third of the time.
        # @return [Integer] how many were damaged
        def damage(api, seconds)
          each = {api: api, side: :response, permille: 30}
          nemesis.rule(:corrupt, 3, **each) { pass(seconds / 3.0) } +
            nemesis.rule(:cut, 40, **each) { pass(seconds / 3.0) } +
            nemesis.rule(:lie, 50, **each, permille: 10) { pass(seconds / 3.0) }
        end

        # The case can't be run here.
        def skip_run(why) = raise(Skip, why)

        # Ends all faults and waits until everything is consumed; members stop.
        def finish(...) = run.finish(...)

        # A partition may process nothing for at most that long; a busy machine is given more.
        # @param seconds [Numeric]
        def expect_stall(seconds, *applications)
          expect("i9_stall") do |checker|
            limit = seconds * Wait.busy.clamp(1, 1.5) # most of it is waiting for timeouts
            found = (applications.empty? ? run.applications : applications).filter_map do |application|
              stall = checker.stall(application.name)
              next unless stall && stall[:seconds] > limit
              "#{application.name}: #{stall[:seconds]} s in #{stall[:partition]}, at most #{limit.round(1)}"
            end
            found.join("; ") unless found.empty?
          end
        end

        # @return [Integer] the broker that coordinates the application's group
        def coordinator(application) = cluster.coordinator(application.group)

        # @return [Integer] another broker than those
        def other(*brokers) = (cluster.nodes.keys - brokers).sample(random: random)

        # @return [Object] a random one
        def any(list) = list.sample(random: random)
      end
    end
  end
end
