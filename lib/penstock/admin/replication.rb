# frozen_string_literal: true

require_relative "../on_demand"
require_relative "replication_plan"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Plans on which brokers the replicas of a topic are. librdkafka can't move them, so a plan is carried out by Kafka's
    # kafka-reassign-partitions.sh; it writes the file and names the commands.
    #
    #     plan = Penstock::Admin::Replication.plan(topic: "orders", replication_factor: 3)
    #     puts plan.summary
    #     plan.export_to_file("orders.json")
    #     puts plan.execution_commands[:execute]
    module Replication
      class << self
        # See {Admin#plan_topic_replication}.
        # @return [ReplicationPlan]
        def plan(topic:, replication_factor:, brokers: nil)
          Admin.plan_topic_replication(topic: topic, replication_factor: replication_factor, brokers: brokers)
        end

        # See {Admin#plan_topic_rebalance}.
        # @return [ReplicationPlan]
        def rebalance(topic:) = Admin.plan_topic_rebalance(topic: topic)
      end

      # Decides where replicas go. A pure value; used once.
      class Planner
        # @param info [Hash] of {Admin#topic_info}
        # @param brokers [Array<Integer>] ids of all brokers
        def initialize(info, brokers)
          @topic = info.fetch(:topic_name)
          @current = info.fetch(:partitions).to_h { |partition| partition.values_at(:partition_id, :replicas) }
          @factor = info.fetch(:replication_factor)
          @brokers = brokers.sort
        end

        # @param factor [Integer] replicas of each partition
        # @param chosen [Hash{Integer => Array<Integer>}, nil] brokers by partition; nil: the least loaded
        # @return [ReplicationPlan]
        # @raise [InvalidRequestError]
        def raise_to(factor, chosen)
          refuse(factor_problems(factor) + (chosen ? chosen_problems(factor, chosen) : []))
          plan(factor, chosen || extended(factor))
        end

        # Keeps the number of replicas, and gives every broker as many leaders and replicas as the others.
        # @return [ReplicationPlan]
        def rebalance
          plan(@factor, spread)
        end

        private

        def plan(factor, assignment)
          ReplicationPlan.new(topic: @topic, current: @current, current_factor: @factor, target_factor: factor,
            assignment: assignment.sort.to_h, brokers: @brokers)
        end

        def refuse(problems)
          raise InvalidRequestError, problems unless problems.empty?
        end

        def factor_problems(factor)
          place = "replication_factor #{factor.inspect}"
          return [Problem.new(place, "is no Integer")] unless factor.is_a?(Integer)
          return [Problem.new(place, "isn't higher than now, #{@factor}", "To move replicas only, use plan_topic_rebalance.")] if
            factor <= @factor
          return [] if factor <= @brokers.size

          [Problem.new(place, "is more than there are brokers: #{@brokers.join(", ")}")]
        end

        def chosen_problems(factor, chosen)
          return [Problem.new("brokers", "is no Hash of partitions and broker ids")] unless chosen.is_a?(Hash)

          missing = (@current.keys - chosen.keys).map { |partition| Problem.new("partition #{partition}", "has no brokers") }
          missing + chosen.flat_map { |partition, ids| partition_problems(factor, partition, ids) }
        end

        def partition_problems(factor, partition, ids)
          place = "partition #{partition}"
          return [Problem.new(place, "doesn't exist in #{@topic}")] unless @current.key?(partition)
          return [Problem.new(place, "#{ids.inspect} is no Array of broker ids")] unless ids.is_a?(Array)

          unknown = ids - @brokers
          [
            (Problem.new(place, "names brokers that don't exist: #{unknown.join(", ")}") if unknown.any?),
            (Problem.new(place, "names a broker twice: #{ids.join(", ")}") if ids.uniq.size < ids.size),
            (Problem.new(place, "has #{ids.size} brokers, not #{factor}") if ids.size != factor)
          ].compact
        end

        # Replicas stay where they are, so that only what is new is copied.
        def extended(factor)
          load = @brokers.to_h { |broker| [broker, 0] }.merge(@current.values.flatten.tally)
          @current.sort.to_h do |partition, replicas|
            all = replicas.dup
            all << least(load, all).tap { |broker| load[broker] += 1 } while all.size < factor
            [partition, all]
          end
        end

        def least(load, taken) = (@brokers - taken).min_by { |broker| [load[broker], broker] }

        # The brokers in turn, each partition beginning with the next one; the shift grows with each round, so that the same two
        # don't always share their partitions.
        def spread
          @current.keys.sort.to_h do |partition|
            round, first = partition.divmod(@brokers.size)
            others = @brokers.rotate(first + 1).first(@brokers.size - 1)
            [partition, [@brokers[first], *others.rotate(round).first(@factor - 1)]]
          end
        end
      end
      private_constant :Planner

      # @param info [Hash] of {Admin#topic_info}
      # @param cluster [Hash] of {Admin#cluster_info}
      # @return [Planner]
      # @api private
      def self.planner(info, cluster) = Planner.new(info, cluster.fetch(:brokers).map { |broker| broker.fetch(:id) })
    end
  end
end
