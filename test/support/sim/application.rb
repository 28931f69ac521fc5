# frozen_string_literal: true

require "penstock/config/builder"
require "penstock/config/environment"
require "penstock/consumer/base_consumer"
require "penstock/routing/builder"

module Penstock
  module TestSupport
    module Sim
      # Settings and routes of a plan, made by the real builders and shared by all runs that are configured alike.
      class Application
        # The user's consumer: asks the world what it does.
        class Consumer < BaseConsumer
          def consume = World.current.script.consume(self)
          def revoked = World.current.script.hook(self, :revoked)
          def shutdown = World.current.script.hook(self, :shutdown)
        end

        class << self
          # @param plan [Plan]
          def for(plan) = (@known ||= {})[plan.configuration] ||= new(plan)
        end

        attr_reader :settings, :group, :properties

        def initialize(plan)
          @settings = settings_of(plan)
          routes = draw(plan).routes(@settings)
          @group = routes.subscription_groups.first
          @properties = {"auto.commit.interval.ms" => plan.commit_interval_ms.to_s, "auto.offset.reset" => "earliest",
                         "max.poll.interval.ms" => "300000"}.freeze
        end

        def self.topics(plan) = Array.new(plan.topics) { |index| "t#{index}" }

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
          manual = plan.manual
          mode = plan.mode
          names = self.class.topics(plan)
          Routing::Builder.new.draw do
            names.each do |name|
              topic(name) do
                consumer Consumer
                manual_offset_management true if manual
                parallel by: mode unless mode == :whole
                initial_offset "earliest"
              end
            end
          end
        end
      end
    end
  end
end
