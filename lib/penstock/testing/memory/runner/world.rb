# frozen_string_literal: true

require "zlib"
require_relative "../../../config/kafka_map"
require_relative "../world"

module Penstock
  module Testing
    module Memory
      class Runner
        # The in-memory Kafka of an example: topics as the routes need them, groups, and the messages that are on their way.
        # Nothing is left to chance: the seed is always the same.
        class World < Memory::World
          SEED = 1
          private_constant :SEED

          # @param application [Application]
          # @param now_ms [Integer] ms since 1970
          def initialize(application, now_ms)
            super(Random.new(SEED))
            @application = application
            @clock = Clock.new(@timeline, epoch_ms: now_ms)
            @cluster = Kafka::Cluster.new(@timeline, @random)
            @arriving = []
            @elsewhere = Thread::Queue.new
            @thread = Thread.current
          end

          # @return [Application]
          attr_reader :application

          # Runs the block in this world.
          def enter
            before, World.current = World.current, self
            yield
          ensure
            World.current = before
          end

          # A message was produced, by any thread: those of other threads arrive with the next event.
          # @param message [Kit::ProducedMessage]
          # @param delay_ms [Integer] virtual ms until it arrives
          def produced(message, delay_ms = 0)
            return @elsewhere << -> { produced(message) } unless here?
            topic(message.topic, at_least: message.partition + 1)
            at = @timeline.now + delay_ms
            at = [at, @arriving.last.first].max unless @arriving.empty?
            @arriving << [at, message]
            @timeline.at(at) { arrive }
          end

          # Lets the next event happen.
          # @return [Boolean] whether there was one
          def step
            listen
            @timeline.step
          end

          # Lets requests of other threads happen.
          def listen = (@elsewhere.pop.call until @elsewhere.empty?)

          # @return [Boolean] whether the calling thread is the one that runs this world
          def here? = Thread.current.equal?(@thread)

          # Another thread has a request: it happens with the next event.
          def from_elsewhere(&request) = @elsewhere << request

          # Creates a topic, or adds partitions to it: as many as a route declares, or as the example uses.
          # @param name [String]
          # @param like [String, nil] a topic that has as many partitions
          # @param at_least [Integer] partitions
          # @return [void]
          def topic(name, like: nil, at_least: 1)
            count = @cluster.topics[name]&.size || 0
            wanted = [declared(name) || @cluster.topics[like]&.size || 1, at_least].max
            return if count >= wanted
            count.zero? ? @cluster.create_topic(name, wanted) : @cluster.add_partitions(name, wanted - count)
            @cluster.groups.each_value { |group| begin_at_start(group, name) }
            @cluster.groups.each_value { |group| group.rebalance if subscribed?(group, name) }
          end

          # @param group [Routing::SubscriptionGroup]
          # @return [Kafka::Group]
          def group(group)
            id = group.consumer_group_id
            @cluster.groups[id] || @cluster.create_group(id, style(group)).tap do |made|
              @cluster.topics.each_key { |name| begin_at_start(made, name) }
            end
          end

          # @return [Hash{String => String}] librdkafka's settings
          def properties(group) = (@properties ||= {})[group.id] ||= Config::KafkaMap.consumer(@application.config, group)

          private

          def arrive
            append(@arriving.shift.last) while @arriving.any? && @arriving.first.first <= @timeline.now
          end

          def declared(name)
            @application.routes.topics.filter_map { |topic| topic.declaration&.partitions if topic.name == name }.max
          end

          def append(message)
            log = @cluster.log(message.topic, message.partition)
            wanted = message.input&.offset || message.offset
            log.gap(wanted - log.high) if wanted && wanted > log.high
            @cluster.produce(message.topic, message.partition, message.payload, key: message.key,
              headers: message[:headers], timestamp: time_of(message))
          end

          # 0 stands for the time at which it arrives, as for librdkafka.
          def time_of(message)
            message.timestamp.to_i.positive? ? message.timestamp.to_i : @clock.wall_ms
          end

          # A group is there before the example produces anything, so that it reads everything, also with
          # `initial_offset "latest"`.
          def begin_at_start(group, name)
            @cluster.partitions([name]).each { |key| group.committed[key] ||= Kafka::Group::Commit.new(0, nil, -1) }
          end

          def subscribed?(group, name)
            @cluster.names(group.members.each_value.flat_map(&:topics).uniq).include?(name)
          end

          def style(group)
            return :consumer if group.consumer_protocol?
            properties(group)["partition.assignment.strategy"].to_s.include?("cooperative") ? :cooperative : :eager
          end
        end
      end
    end
  end
end
