# frozen_string_literal: true

require_relative "../native/kafka_error"
require_relative "../on_demand"
require_relative "arguments"
require_relative "acl"
require_relative "failures"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Commands about topics and the cluster, based on metadata. Stateless; runs on the caller's thread.
    class Topics
      INTERNAL = "__"
      private_constant :INTERNAL

      # The commands by the names that Karafka's module of this name has; they go to the application's cluster.
      class << self
        # See {Admin#create_topic}.
        # @return [void]
        def create(name, partitions, replication_factor, config = {})
          Admin.create_topic(name, partitions, replication_factor, config)
        end

        # See {Admin#delete_topic}.
        # @return [void]
        def delete(name) = Admin.delete_topic(name)

        # See {Admin#create_partitions}.
        # @return [void]
        def create_partitions(name, partitions) = Admin.create_partitions(name, partitions)

        # See {Admin#topic_info}.
        # @return [Hash]
        def info(name) = Admin.topic_info(name)

        # See {Admin#read_topic}.
        # @return [Array<Message>]
        def read(...) = Admin.read_topic(...)

        # See {Admin#read_watermark_offsets}.
        # @return [Array<Integer>, Hash]
        def read_watermark_offsets(...) = Admin.read_watermark_offsets(...)
      end

      # @param session [Session]
      def initialize(session)
        @session = session
      end

      # Kafka takes -1 for "the broker's default".
      def create(name, partitions, replication_factor, config)
        name = Arguments.name("topic", name)
        refuse_counts("partitions" => partitions || -1, "replication_factor" => replication_factor || -1)
        config = config.to_h { |key, value| [key.to_s, Arguments.setting(value).to_s] }
        @session.change(:create_topics, [[name, partitions || -1, replication_factor || -1, config]]) do |embedded|
          embedded.request(:create, topic: name, partitions: partitions, replication_factor: replication_factor)
        end
        wait_for_leaders(name, partitions || 1)
      end

      def delete(name)
        name = Arguments.name("topic", name)
        @session.change(:delete_topics, [name]) { |embedded| embedded.request(:delete, topic: name) }
        @session.wait_until_visible("deletion of topic #{name}") { !partitions_of(name) }
      end

      def create_partitions(name, total)
        name = Arguments.name("topic", name)
        refuse_counts("partitions" => total)
        @session.change(:create_partitions, [[name, total]]) do
          raise Native.error_for(Native.error_number(:unsupported_feature), name,
            "an embedded broker can't add partitions: create the topic with enough of them")
        end
        wait_for_leaders(name, total)
      end

      def list(internal:, details: false)
        topics = @session.call(:metadata, nil)[:topics]
        topics = topics.reject { |name, _topic| name.start_with?(INTERNAL) } unless internal
        topics = topics.select { |_name, topic| topic[:error].zero? } if details
        topics.transform_values { |topic| details ? counts(topic[:partitions].values) : topic[:partitions].size }.sort.to_h
      end

      def info(name)
        name = Arguments.name("topic", name)
        partitions = metadata(name).fetch(:partitions)
        {
          topic_name: name, partition_count: partitions.size,
          replication_factor: partitions.values.map { |partition| partition[:replicas].size }.max,
          partitions: partitions.sort.map do |id, partition|
            {partition_id: id, **partition.slice(:leader, :replicas, :isrs)}
          end
        }
      end

      # @param names [Array<String>]
      # @return [Array<Hash>]
      def describe(names, authorized_operations:)
        names = Arguments.names("topic", names)
        found = {}
        items = names.to_h { |name| [name, name] }
        errors = @session.settle(:describe_topics, items, extra: [authorized_operations]) do |row|
          name, number, message, *rest = row
          found[name] = rest
          [name, number, name, message]
        end
        Failures.raise_any(errors)
        names.map { |name| description(name, *found.fetch(name)) }
      end

      # @param topics [Hash{String => Array<Integer>}, nil]
      # @param type [:preferred, :unclean]
      # @return [Hash{String => Array<Integer>}]
      def elect(topics, type)
        refuse_election(type)
        rows = topics && Arguments.some_partitions(topics)
        errors = @session.call(:elect_leaders, rows, extra: [type == :unclean]).to_h do |topic, partition, number, message|
          [[topic, partition], number.zero? ? nil : Native.error_for(number, "#{topic}/#{partition}", message)]
        end
        unchanged, failed = errors.compact.partition { |_place, error| error.code == :election_not_needed }.map(&:to_h)
        Failures.raise_any(failed)
        (errors.keys - unchanged.keys).group_by(&:first).transform_values { |pairs| pairs.map(&:last) }
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

      # -1 is the broker's default, as in Kafka's own client.
      def refuse_counts(counts)
        most = Arguments::MOST
        wrong = counts.reject { |_what, count| count.is_a?(Integer) && (count.between?(1, most) || count == -1) }
        return if wrong.empty?

        problems = wrong.map { |what, count| Problem.new(what, "#{count.inspect} is no number from 1 to #{most}") }
        raise InvalidRequestError, problems
      end

      def counts(partitions)
        {partitions: partitions.size, replication_factor: partitions.map { |partition| partition[:replicas].size }.max.to_i,
         under_replicated: partitions.count { |partition| partition[:isrs].size < partition[:replicas].size },
         offline: partitions.count { |partition| partition[:leader].negative? }}
      end

      def description(name, id, internal, partitions, operations)
        {topic: name, id: id, internal: internal, partitions: partitions.sort_by { |one| one[:partition] },
         authorized_operations: operations.map { |number| Acl::OPERATIONS.key(number) || :unknown }}
      end

      def refuse_election(type)
        return if %i[preferred unclean].include?(type)

        raise InvalidRequestError, [Problem.new("type #{type.inspect}", "is neither :preferred nor :unclean")]
      end

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
          partitions = partitions_of(name) or next hidden?(name)
          partitions.size >= count && partitions.each_value.all? { |partition| partition[:leader] >= 0 }
        rescue RetriableError
          false # "leader not available" during the election
        end
      end

      # Whether this user may create the topic, but not see it: then there is nothing to wait for.
      def hidden?(name)
        describe([name], authorized_operations: false)
        false
      rescue KafkaError => error
        error.code == :topic_authorization_failed
      end
    end
  end
end
