# frozen_string_literal: true

require "penstock/config/builder"
require "penstock/config/environment"
require "penstock/consumer/base_consumer"
require "penstock/processing/filters/base"
require "penstock/routing/builder"
require_relative "checking/accessors"
require_relative "hopping"

module Penstock
  module TestSupport
    module Sim
      # Settings and routes of a plan, made by the real builders and shared by all runs with the same configuration.
      class Application
        # The user's consumer: the world's script determines what it does.
        class Consumer < BaseConsumer
          def consume = World.current.script.consume(self)
          def enhance_dlq_message(_letter, message) = World.current.script.enhance(message)
          def eofed = World.current.script.hook(self, :eofed)
          def tick = World.current.script.hook(self, :tick)
          def revoked = World.current.script.hook(self, :revoked)
          def shutdown = World.current.script.hook(self, :shutdown)
        end

        # The same where processes of a pool run it: they have no partition that could be revoked.
        class Visitor < BaseConsumer
          def consume = World.current.script.consume(self)
          def eofed = World.current.script.hook(self, :eofed)
        end

        # The user's filter: the world's script determines what it removes, and whether it makes the partition wait or
        # resume at another offset.
        class Filter < Processing::Filters::Base
          attr_reader :action, :timeout

          def apply!(messages)
            script = World.current.script
            messages.select! { |message| script.keep?(message) }
            @action, @cursor, @timeout = script.turn(messages)
            @applied = !@cursor.nil?
          end
        end

        # Configured applications that are kept at most.
        MOST = 300
        private_constant :MOST

        class << self
          # @param plan [Plan]
          def for(plan)
            @known = {} if @known.nil? || @known.size > MOST
            @known[plan.configuration] ||= new(plan)
          end

          # @return [Config::Settings] shared by all plans with equal values
          def settings(plan)
            (@settings ||= {})[[plan.workers, plan.max_messages, plan.drain_ms]] ||= yield
          end
        end

        attr_reader :settings, :group, :properties

        def self.retry_topic?(name) = name.include?(".retry.")

        def initialize(plan)
          @settings = self.class.settings(plan) { settings_of(plan) }
          routes = draw(plan).routes(@settings)
          @group = routes.subscription_groups.first
          @properties = {"auto.commit.interval.ms" => plan.commit_interval_ms.to_s, "auto.offset.reset" => "earliest",
                         "max.poll.interval.ms" => "300000"}.freeze
        end

        # @return [Array<String>] topics that somebody writes to
        def self.topics(plan)
          plan.hops ? delay_tiers(plan).names : Array.new(plan.topics) { |index| "t#{index}" }
        end

        # @return [Routing::DelayTiers]
        def self.delay_tiers(plan) = Routing::DelayTiers.new(World::GROUP, plan.hops)

        # @return [Array<String>] the topics that a topic's failed records go to, one after another
        def self.retry_topics(plan, name) = Array.new(plan.tiers.to_a.size) { |index| "#{name}.retry.#{index + 1}" }

        private

        def settings_of(plan)
          builder = Config::Builder.new(environment: Config::Environment.new("test"))
          builder.record do |config|
            config.client_id = "sim"
            config.group_id = World::GROUP
            config.kafka = {"bootstrap.servers": "sim:9092"}
            config.concurrency = plan.workers
            config.max_messages = plan.max_messages
            config.revocation_drain = plan.drain_ms
            config.pause.timeout = 50
            config.pause.max_timeout = 400
          end
          builder.settings
        end

        def draw(plan)
          return draw_delays(plan.hops) if plan.hops
          names = self.class.topics(plan)
          say = method(:say)
          Routing::Builder.new.draw do
            names.each do |name|
              topic(name) do
                consumer((plan.run_on == :processes) ? Visitor : Consumer)
                initial_offset "earliest"
                say.call(self, plan)
              end
            end
          end
        end

        def draw_delays(delays)
          Routing::Builder.new(delay_consumer: Hopping::Consumer).draw { delay_topics delays: delays }
        end

        # The options of a plan's route.
        def say(route, plan)
          route.deserializers(**Checking::Accessors::DESERIALIZERS)
          route.manual_offset_management true if plan.manual
          parallel(route, plan) unless plan.mode == :whole
          route.interruptible true if plan.interruptible
          route.isolate false unless plan.isolate
          route.run_on plan.run_on, max: plan.workers * ((plan.run_on == :fibers) ? 4 : 1) if plan.run_on
          route.time_limit plan.time_limit if plan.time_limit
          route.batch(min: plan.batch, within: 300, bytes: plan.batch_bytes) if plan.batch || plan.batch_bytes
          calls(route) if plan.calls
          admission(route, plan)
          failures(route, plan)
        end

        def parallel(route, plan)
          return route.parallel(by: :message) if plan.mode == :message
          case plan.partitioner
          when true then route.parallel(by: ->(message) { World.current.script.key_of(message) })
          when "consistent" then route.parallel(by: :key, distribution: :consistent)
          else route.parallel(by: :key)
          end
        end

        def calls(route)
          route.eofed true
          route.periodic(interval: 1_500)
        end

        def admission(route, plan)
          route.filter { |message| World.current.script.keep?(message) } if plan.filter == :block
          route.filter(->(_topic, _partition) { Filter.new }) if plan.filter == :object
          times(route, plan)
          route.throttle(limit: plan.throttle, interval: World::THROTTLE_MS) if plan.throttle
          route.throttle(limit: plan.key_throttle, interval: World::THROTTLE_MS, per: :key) if plan.key_throttle
        end

        def times(route, plan)
          header = World::TTL if plan.own_times
          route.expire_in(plan.expire_ms, header: header, topic: plan.expired_topic) if plan.expire_ms || header
          return route.delay_by(plan.delay_ms, header: World::DELAY, max: World::MOST_DELAY_MS) if plan.own_times
          route.delay_by(plan.delay_ms) if plan.delay_ms
        end

        def failures(route, plan)
          breaker = {after: plan.breaker, limit: plan.hold_limit}.compact
          route.breaker(**breaker) unless breaker.empty?
          route.quarantine(max_crashes: World::CRASHES) if plan.killer
          route.retry_topics(delays: plan.tiers, finally: plan.letter_topic) if plan.tiers
          return unless plan.letters
          route.dead_letter_queue(topic: plan.letter_topic, max_retries: plan.letters, mark_after_dispatch: true,
            marking_method: plan.at_once ? "mark_as_consumed!" : "mark_as_consumed")
        end
      end
    end
  end
end
