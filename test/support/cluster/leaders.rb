# frozen_string_literal: true

module Penstock
  module TestSupport
    # Finds and moves the leaders in a {KafkaCluster}: leaders of partitions, and through those of the internal topics
    # the coordinators of groups and transactional ids. Uses Kafka's own client.
    module ClusterLeaders
      OFFSETS = "__consumer_offsets"
      TRANSACTIONS = "__transaction_state"

      # Creates a topic and returns when each partition has a leader and all replicas in sync.
      def create_topic(name, partitions: 6, config: {})
        agent.call(:create_topic, topic: name, partitions: partitions, config: config)
        wait_until(30, "topic #{name}", every: 0.02) do
          rows = agent.call(:topic, topic: name)
          rows.size == partitions && rows.all? { |row| row["leader"] > 0 && row["isr"].size == row["replicas"].size } &&
            on_every_broker?(name, rows)
        rescue ClusterAgent::Error
          false
        end
        name
      end

      # A broker that hasn't heard of a new topic answers "unknown topic", and any broker may be asked. It knows a topic before it
      # stores its partitions.
      def on_every_broker?(name, rows)
        running = states.select { |_id, state| state == :running }.keys
        copies = agent.call(:copies, topic: name, brokers: running).transform_keys(&:to_i)
        running.all? { |id| copies.fetch(id) == rows.count { |row| row["replicas"].include?(id) } }
      end

      # @return [Array<Hash>] its partitions; a broker that hasn't heard of a new topic yet is asked again
      def topic_rows(name)
        wait_until(10, "topic #{name}", every: 0.05) do
          agent.call(:topic, topic: name)
        rescue ClusterAgent::Error
          nil
        end
      end

      # @return [Hash{Integer => Integer}] the leader of each partition; -1: none
      def leaders(topic)
        topic_rows(topic).to_h { |row| row.values_at("partition", "leader") }
      end

      def leader(topic, partition) = leaders(topic).fetch(partition)

      # Makes a broker that has a replica of the partition its leader, and waits until it leads. It leads until the next
      # move.
      def move_leader(topic, partition, to:, seconds: 30)
        row = topic_rows(topic).find { |one| one["partition"] == partition }
        replicas = [to, *(row.fetch("replicas") - [to])]
        agent.call(:reassign, partitions: [{topic: topic, partition: partition, replicas: replicas}])
        wait_until(seconds, "broker #{to} as leader of #{topic}/#{partition}", every: 0.05) do
          agent.call(:elect, topic: topic, partition: partition)
          leader(topic, partition) == to
        rescue ClusterAgent::Error
          false
        end
      end

      # Lets the preferred leaders lead again, everywhere.
      def elect_preferred = agent.call(:elect)

      # The partition of an internal topic that a group or a transactional id belongs to. Kafka takes the absolute value
      # of Java's hash of the name, and 0 for the smallest integer, which has none.
      def self.place_of(name, count)
        hash = name.encode("UTF-16BE").unpack("n*").inject(0) { |sum, unit| (sum * 31 + unit) & 0xFFFFFFFF }
        hash -= 1 << 32 if hash >= 1 << 31
        (hash == -(1 << 31)) ? 0 : hash.abs % count
      end

      def place_of(name, topic)
        ClusterLeaders.place_of(name, (@place_counts ||= {})[topic] ||= agent.call(:topic, topic: topic).size)
      end

      # @return [Integer] the broker that coordinates a group
      def coordinator(group) = leader(OFFSETS, place_of(group, OFFSETS))

      # @return [Integer] the broker that coordinates a transactional id
      def transaction_coordinator(id) = leader(TRANSACTIONS, place_of(id, TRANSACTIONS))

      def move_coordinator(group, to:) = move_leader(OFFSETS, place_of(group, OFFSETS), to: to)

      def move_transaction_coordinator(id, to:) = move_leader(TRANSACTIONS, place_of(id, TRANSACTIONS), to: to)
    end
  end
end
