# frozen_string_literal: true

module Penstock; class Admin; end; end # its parts open it, too: see ON_DEMAND
require_relative "compat/karafka/admin"
require_relative "admin/session"
require_relative "admin/topics"
require_relative "admin/offsets"
require_relative "admin/groups"
require_relative "admin/topic_reader"

module Penstock
  # Runs administration commands on a cluster: topics, offsets, groups. Each does one thing, waits until it is done *and
  # visible*, and raises Kafka's error.
  #
  #     Penstock::Admin.create_topic("orders", partitions: 6, replication_factor: 3)
  #
  #     Penstock::Admin.open("bootstrap.servers": "other:9092") { |admin| admin.topics }
  #
  # An instance connects on its first call and stays connected until {#close}; any thread may use it. The same commands called
  # on the class connect to the application's cluster, for that one call. Admin never joins groups, commits offsets, or creates
  # topics by requesting their metadata. With an embedded broker, only what that broker supports is available.
  class Admin
    include Compat::Karafka::Admin

    # Default time limit of a call.
    TIMEOUT_MS = 30_000

    # Options that aren't properties of the cluster.
    OPTIONS = %i[timeout_ms token_provider visible_ms pause_ms].freeze
    private_constant :OPTIONS

    # Commands that may be called on the class.
    COMMANDS = %i[
      create_topic delete_topic create_partitions topics topic_info cluster_info read_watermark_offsets
      read_partition_offsets offsets_for_times read_committed_offsets group_lag groups group_info read_topic
    ].freeze

    class << self
      include Compat::Karafka::Admin

      # Where commands called on the class connect: librdkafka's properties, or a callable that returns them. The application
      # sets it.
      # @api private
      attr_writer :kafka

      # Options for these connections, as for {#initialize}, or a callable that returns them. The application sets it.
      # @api private
      attr_writer :options

      # Callable that returns groups and their topics; its argument is whether to leave out inactive ones. The application sets
      # it.
      # @api private
      attr_writer :routed

      # Callable that returns the deserializers of a topic, nil for the defaults. The application sets it.
      # @api private
      attr_accessor :deserializers

      # @api private
      def const_missing(name)
        error = Compat::Karafka::Admin.constant(self, name) or return super
        error.set_backtrace(caller)
        raise error
      end

      # Connects, yields, disconnects.
      #
      # @param kafka [Hash] librdkafka's properties, with braces or without
      # @param options as for {#initialize}
      # @yieldparam admin [Admin]
      # @return what the block returns
      def open(kafka = {}, **options)
        more, bare = options.partition { |name, _value| OPTIONS.include?(name) }.map(&:to_h)
        kafka = kafka.merge(bare)
        raise ArgumentError, "no cluster: use Penstock::Admin.open(\"bootstrap.servers\": \"…\") { |admin| … }" if kafka.empty?

        admin = new(kafka: kafka, **more)
        yield admin
      ensure
        admin&.close
      end

      COMMANDS.each do |name|
        define_method(name) do |*arguments, **options|
          kafka, own = application_connection
          Admin.open(kafka, **own) { |admin| admin.public_send(name, *arguments, **options) }
        end
      end

      # See {Admin#read_lags_with_offsets}; without groups, those of all topics in the application's routes, except patterns.
      #
      # @param groups [Hash{String=>Array<String>, nil}] with braces or without
      # @param active_topics_only [Boolean] false: also topics that aren't consumed
      # @return [Hash{String=>Hash{String=>Hash{Integer=>Hash}}}]
      def read_lags_with_offsets(groups = {}, active_topics_only: true, **bare)
        groups = groups.merge(bare)
        groups = @routed&.call(active_topics_only).to_h if groups.empty?
        Admin.open(application_kafka, **application_options) { |admin| admin.read_lags_with_offsets(groups) }
      end

      # @return [Array(Hash, Hash)] librdkafka's properties of the application, and options
      # @raise [ConfigurationError] there is no application
      # @api private
      def application_connection = [application_kafka, application_options]

      private

      def application_options = (@options.respond_to?(:call) ? @options.call : @options).to_h

      def application_kafka
        kafka = @kafka.respond_to?(:call) ? @kafka.call : @kafka
        kafka || raise(ConfigurationError, "Penstock::Admin has no cluster: define an application " \
                                           "first, or use Penstock::Admin.open(\"bootstrap.servers\": \"…\")")
      end
    end

    # @param kafka [Hash{Symbol, String => Object}] librdkafka's properties; those only for consumers and producers are
    #   ignored
    # @param timeout_ms [Integer] for each call
    # @param more [Hash] `token_provider:` [#on_oauthbearer_token_refresh, nil] called once, before the first request;
    #   `visible_ms:` most time for a change to become visible; `pause_ms:` between two checks
    def initialize(kafka:, timeout_ms: TIMEOUT_MS, **more)
      @session = Session.new(kafka, timeout_ms: timeout_ms, **more)
      @topics = Topics.new(@session)
      @offsets = Offsets.new(@session)
      @groups = Groups.new(@session, @offsets)
      @reader = TopicReader.new(kafka, timeout_ms: timeout_ms, token_provider: more[:token_provider])
    end

    # Creates a topic and returns when all its partitions have leaders.
    #
    # @param name [String]
    # @param partitions [Integer, nil] nil: the broker's default
    # @param replication_factor [Integer, nil] nil: the broker's default
    # @param config [Hash] of the topic (`"retention.ms" => 60_000`)
    # @param positional [Array] the same three as positional arguments
    # @return [void]
    # @raise [KafkaError] `:topic_already_exists`, `:invalid_replication_factor`, `:policy_violation`, …
    # @raise [WaitTimeoutError] the topic was created but isn't visible yet
    def create_topic(name, *positional, partitions: nil, replication_factor: nil, config: {})
      raise ArgumentError, "create_topic takes name, partitions, replication_factor, config" if positional.size > 3

      @topics.create(name, positional[0] || partitions, positional[1] || replication_factor, positional[2] || config)
    end

    # Deletes a topic with all its records and returns when it is gone.
    #
    # @raise [KafkaError] `:unknown_topic_or_part`
    # @raise [WaitTimeoutError] the topic was deleted but is still visible
    def delete_topic(name)
      @topics.delete(name)
    end

    # Adds partitions and returns when they have leaders. From then on, keys may map to other partitions.
    #
    # @param total [Integer] the new number of partitions
    # @raise [KafkaError] `:invalid_partitions` when the topic already has as many or more
    def create_partitions(name, total)
      @topics.create_partitions(name, total)
    end

    # @param internal [Boolean] also topics whose name begins with two underscores
    # @return [Hash{String=>Integer}] topics and their number of partitions, sorted
    def topics(internal: false)
      @topics.list(internal: internal)
    end

    # @return [Hash] `topic_name`, `partition_count`, `replication_factor`, `partitions` (each `partition_id`, `leader`,
    #   `replicas`, `isrs`)
    # @raise [KafkaError] `:unknown_topic_or_part`
    def topic_info(name)
      @topics.info(name)
    end

    # Reads settings of topics, with those that the brokers have for all topics. An embedded broker can't answer.
    #
    # @param names [Array<String>]
    # @return [Hash{String=>Hash{String=>String, nil}}] by topic and setting (`"retention.ms"`); nil for secret values
    # @raise [KafkaError] `:unknown_topic_or_part`, `:topic_authorization_failed` (needs DESCRIBE_CONFIGS)
    def topic_configs(names)
      @topics.configs(names)
    end

    # @return [Hash] `cluster_id`, `controller_id`, `brokers` (each `id`, `host`, `port`), `topics`
    def cluster_info
      @topics.cluster
    end

    # Returns the first offset and the end offset of partitions.
    #
    # @overload read_watermark_offsets(name, partition)
    #   @return [(Integer, Integer)]
    # @overload read_watermark_offsets(topics)
    #   @param topics [Hash{String=>Array<Integer>}]
    #   @return [Hash{String=>Hash{Integer=>(Integer, Integer)}}]
    # @raise [KafkaError] `:unknown_topic_or_part`, `:unknown_partition`
    def read_watermark_offsets(name_or_topics, partition = nil)
      return @offsets.watermarks(name_or_topics) if name_or_topics.is_a?(Hash)

      @offsets.watermarks(name_or_topics => [partition]).fetch(name_or_topics).fetch(partition)
    end

    # @param topics [Hash{String=>Array<Hash>}] each `partition:` and `offset:` (`:earliest`, `:latest`, `:max_timestamp`,
    # a Time or milliseconds); each partition at most once
    # @param isolation_level [:read_committed, :read_uncommitted]
    # @return [Array<Hash>] `topic`, `partition`, `offset` (-1: none), `timestamp`, `leader_epoch`
    def read_partition_offsets(topics, isolation_level: :read_uncommitted)
      @offsets.read(topics, committed: isolation_level == :read_committed)
    end

    # Reads records of a partition: the last ones, or those from an offset or a time on, at most to the end that it has now. What
    # compaction removed and markers of transactions don't count. {Iterator} reads more than one partition.
    #
    # @param name [String]
    # @param partition [Integer]
    # @param count [Integer] at most this many
    # @param start_offset [Integer, Time] -1: the last ones
    # @param settings [Hash] librdkafka's properties for this call (`"isolation.level": "read_uncommitted"`)
    # @return [Array<Message>] by offset; empty when the offset or time is after the end
    # @raise [KafkaError] `:unknown_topic_or_part`, `:unknown_partition`
    # @raise [ArgumentError] count or start_offset can't be used
    def read_topic(name, partition, count, start_offset = -1, settings = {})
      @reader.read(name, partition, count, start_offset, settings)
    end

    # @param topics [Hash{String=>Hash{Integer=>Time, Integer}}] a time, or milliseconds, for each partition
    # @return [Hash{String=>Hash{Integer=>Integer}}] the first offset at or after it; -1 when there is none
    def offsets_for_times(topics)
      @offsets.for_times(topics)
    end

    # @param group [String]
    # @param topics [Hash{String=>Array<Integer>}, nil] nil: everything that the group has committed
    # @return [Array<Hash>] `topic`, `partition`, `offset` (nil: none), `metadata` (binary), `leader_epoch`
    def read_committed_offsets(group, topics = nil)
      @groups.committed(group, topics)
    end

    # @param groups [Hash{String=>Array<String>, nil}] consumer groups and their topics; nil: the topics with commits
    # @return [Hash{String=>Hash{String=>Hash{Integer=>Hash}}}] group, topic, partition, then `offset` and `lag`, both -1
    #   where nothing was committed, and for what doesn't exist: of a missing topic, its partition 0
    def read_lags_with_offsets(groups)
      @groups.lags(groups)
    end

    # Returns a group's lag, one row per partition.
    #
    # @param group [String]
    # @param topics [Array<String>, nil] nil: the topics with commits
    # @return [Array<Hash>] `group`, `topic`, `partition`, `committed` (nil: none), `end`, `lag` (nil: unknown), and `incomplete`:
    #   the lag without the records that Penstock completed beyond the committed offset, as its last commit lists them
    def group_lag(group, topics = nil)
      @groups.lag(group, topics)
    end

    # @return [Array<Hash>] `group`, `state`, `type`
    def groups
      @groups.list
    end

    # @return [Hash] `group`, `state`, `type`, `assignor`, `coordinator`, `members` (each `id`, `client_id`, `host`,
    #   `instance_id`, `partitions`)
    def group_info(group)
      @groups.info(group)
    end

    # Disconnects. Calls that wait in other threads raise {HandleClosedError}. May be called more than once.
    def close
      @session.close
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{@session.servers}>"
    end
  end

  Admin.autoload(:Recovery, "penstock/admin/recovery")
  introduce(Admin) if respond_to?(:introduce)
end
