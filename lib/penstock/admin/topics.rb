# frozen_string_literal: true

require_relative "../native/kafka_error"

module Penstock
  class Admin
    # Commands about topics and the cluster, based on metadata. Stateless; runs on the caller's thread.
    class Topics
      INTERNAL = "__"
      private_constant :INTERNAL

      # @param session [Session]
      def initialize(session)
        @session = session
      end

      # Kafka takes -1 for "the broker's default".
      def create(name, partitions, replication_factor, config)
        config = config.to_h { |key, value| [key.to_s, value.to_s] }
        @session.change(:create_topics, [[name, partitions || -1, replication_factor || -1, config]]) do |embedded|
          embedded.request(:create, topic: name, partitions: partitions, replication_factor: replication_factor)
        end
        wait_for_leaders(name, partitions || 1)
      end

      def delete(name)
        @session.change(:delete_topics, [name]) { |embedded| embedded.request(:delete, topic: name) }
        @session.wait_until_visible("deletion of topic #{name}") { !partitions_of(name) }
      end

      def create_partitions(name, total)
        @session.change(:create_partitions, [[name, total]]) do
          raise Native.error_for(Native.error_number(:unsupported_feature), name,
            "an embedded broker can't add partitions: create the topic with enough of them")
        end
        wait_for_leaders(name, total)
      end

      def list(internal:)
        topics = @session.call(:metadata, nil)[:topics]
        topics = topics.reject { |name, _topic| name.start_with?(INTERNAL) } unless internal
        topics.transform_values { |topic| topic[:partitions].size }.sort.to_h
      end

      def info(name)
        partitions = metadata(name).fetch(:partitions)
        {
          topic_name: name, partition_count: partitions.size,
          replication_factor: partitions.values.map { |partition| partition[:replicas].size }.max,
          partitions: partitions.sort.map do |id, partition|
            {partition_id: id, **partition.slice(:leader, :replicas, :isrs)}
          end
        }
      end

      def configs(names)
        @session.call(:describe_configs, names) do |rows|
          rows.to_h do |name, number, message, config|
            raise Native.error_for(number, name, message) unless number.zero?
            [name, config]
          end
        end
      end

      def cluster
        metadata = @session.call(:metadata, nil)
        {
          cluster_id: metadata[:cluster_id], controller_id: metadata[:controller],
          brokers: metadata[:brokers].map { |id, host, port| {id: id, host: host, port: port} },
          topics: metadata[:topics].keys.sort
        }
      end

      private

      # @raise [KafkaError] `:unknown_topic_or_part`
      def metadata(name)
        @session.topic(name)
      end

      def partitions_of(name)
        metadata(name)[:partitions]
      rescue KafkaError => error
        raise unless error.code == :unknown_topic_or_part
      end

      def wait_for_leaders(name, count)
        @session.wait_until_visible("topic #{name} with #{count} partitions") do
          partitions = partitions_of(name)
          partitions && partitions.size >= count && partitions.each_value.all? { |partition| partition[:leader] >= 0 }
        rescue RetriableError
          false # "leader not available" during the election
        end
      end
    end
  end
end
