# frozen_string_literal: true

module Penstock; class Admin; end; end # its parts open it, too: see ON_DEMAND
require_relative "compat/karafka/admin"
require_relative "admin/acls"
require_relative "admin/config_requests"
require_relative "admin/connection"
require_relative "admin/consumer_groups"
require_relative "admin/group_commands"
require_relative "admin/group_offsets"
require_relative "admin/groups"
require_relative "admin/not_offered"
require_relative "admin/offset_commands"
require_relative "admin/offset_targets"
require_relative "admin/offsets"
require_relative "admin/rebalance_trigger"
require_relative "admin/records"
require_relative "admin/replication"
require_relative "admin/security_commands"
require_relative "admin/session"
require_relative "admin/topic_commands"
require_relative "admin/topic_reader"
require_relative "admin/topics"
require_relative "admin/users"

module Penstock
  # Runs administration commands on a cluster: topics, offsets, groups. Each does one thing, waits until it is done *and
  # visible*, and raises Kafka's error.
  #
  #     Penstock::Admin.create_topic("orders", partitions: 6, replication_factor: 3)
  #
  #     Penstock::Admin.open("bootstrap.servers": "other:9092") { |admin| admin.topics }
  #
  # An instance connects on its first call and stays connected until {#close}; any thread may use it. The same commands called
  # on the class connect to the application's cluster, for that one call. Admin never joins a group, and creates no topic by
  # requesting its metadata. With an embedded broker, only what that broker supports is available.
  class Admin
    include Compat::Karafka::Admin
    include NotOffered
    include TopicCommands
    include OffsetCommands
    include GroupCommands
    include SecurityCommands

    # For `isolation_level:` of {OffsetCommands#read_partition_offsets}.
    module IsolationLevels
      # Up to the first record of an open transaction.
      READ_COMMITTED = :read_committed
      # All records.
      READ_UNCOMMITTED = :read_uncommitted
    end

    # Default time limit of a call.
    TIMEOUT_MS = 30_000

    # Options that aren't properties of the cluster.
    OPTIONS = %i[timeout_ms token_provider visible_ms pause_ms].freeze
    private_constant :OPTIONS

    class << self
      include Compat::Karafka::Admin
      include NotOffered

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

      # Callable that returns librdkafka's properties of a member of a group in the routes, and what it subscribes to; nil for a
      # group that isn't there. The application sets it.
      # @api private
      attr_writer :member

      # Callable that returns the deserializers of a topic, nil for the defaults. The application sets it.
      # @api private
      attr_accessor :deserializers

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

      commands = [TopicCommands, OffsetCommands, GroupCommands, SecurityCommands].flat_map(&:public_instance_methods)
      (commands - %i[read_lags_with_offsets trigger_rebalance]).each do |name|
        define_method(name) do |*arguments, **options|
          with { |admin| admin.public_send(name, *arguments, **options) }
        end
      end

      # See {Admin#read_lags_with_offsets}; without groups, those of all topics in the application's routes, except patterns.
      #
      # @param groups [Hash{String=>Array<String>, nil}, Array<String>] a Hash with braces or without
      # @param active_topics_only [Boolean] false: also topics that aren't consumed
      # @return [Hash{String=>Hash{String=>Hash{Integer=>Hash}}}]
      def read_lags_with_offsets(groups = {}, active_topics_only: true, **bare)
        groups = Arguments.groups(groups).merge(Arguments.groups(bare))
        groups = @routed&.call(active_topics_only).to_h if groups.empty?
        with { |admin| admin.read_lags_with_offsets(groups) }
      end

      # See {Admin#trigger_rebalance}: of a group in the application's routes, which name its topics and settings.
      #
      # @param group [String] the id of a consumer group
      # @return [void]
      # @raise [InvalidRequestError] there is no such group in the routes, or it assigns its partitions itself
      def trigger_rebalance(group)
        settings, topics = @member&.call(group)
        unless settings
          raise InvalidRequestError, [Problem.new("group #{group}", "isn't in the routes, or nobody subscribes to its topics",
            "Of any other group: Penstock::Admin.with { |admin| admin.trigger_rebalance(group, topics) }")]
        end

        with { |admin| admin.trigger_rebalance(group, topics, settings: settings) }
      end

      # Connects to the application's cluster, yields, disconnects: several commands over one connection, or with another time
      # limit.
      #
      #     Penstock::Admin.with(timeout_ms: 120_000) { |admin| admin.delete_topic("clicks") }
      #
      # @param options as for {#initialize}, instead of those of `config.admin`
      # @yieldparam admin [Admin]
      # @return what the block returns
      def with(**options, &block)
        Admin.open(application_kafka, **application_options, **options, &block)
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
    # @param external_client [Admin] use its connection instead, which it closes
    # @param timeout_ms [Integer] for each call
    # @param token_provider [#on_oauthbearer_token_refresh, nil] called before the first request, and again
    #   before the first one after 80 % of the token's lifetime
    # @param times [Hash] `visible_ms:` most time for a change to become visible; `pause_ms:` between two checks
    def initialize(kafka: nil, external_client: nil, timeout_ms: TIMEOUT_MS, token_provider: nil, **times)
      @owner = external_client.nil?
      connection = @owner ? Connection.new(cluster(kafka), token_provider: token_provider) : shared(external_client, kafka)
      @session = Session.new(connection, timeout_ms: timeout_ms, **times)
      prepare
    end

    # Returns the same commands over the same connection, with another time limit.
    #
    #     admin.with(timeout_ms: 120_000).delete_records("clicks" => :latest)
    #
    # @param timeout_ms [Integer] for each call
    # @return [Admin] don't close it
    def with(timeout_ms:)
      dup.tap { |other| other.__send__(:limit, timeout_ms) }
    end

    # Disconnects, unless the connection is another object's. Calls that wait in other threads raise {HandleClosedError}. May be
    # called more than once.
    def close
      @session.connection.close if @owner
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{@session.connection.servers}>"
    end

    protected

    # @return [Connection]
    def connection = @session.connection

    private

    def cluster(kafka)
      return kafka if kafka

      raise ArgumentError, "Penstock::Admin.new needs kafka: {\"bootstrap.servers\": \"…\"}, or external_client: another Admin"
    end

    def shared(client, kafka)
      raise ArgumentError, "give kafka: or external_client:, not both" if kafka
      return client.connection if client.is_a?(Admin)

      raise ArgumentError, "external_client: takes a Penstock::Admin, not #{client.class}"
    end

    def limit(timeout_ms)
      @owner = false
      @session = @session.with(timeout_ms: timeout_ms)
      prepare
    end

    def prepare
      @topics = Topics.new(@session)
      @offsets = Offsets.new(@session)
      @groups = Groups.new(@session, @offsets)
      targets = OffsetTargets.new(@session, @offsets)
      @group_offsets = GroupOffsets.new(@session, @groups, targets)
      @records = Records.new(@session, targets)
      @reader = TopicReader.new(@session.connection.kafka, timeout_ms: @session.timeout_ms,
        token_provider: @session.connection.token_provider)
      @configs = ConfigRequests.new(@session)
      @acls = Acls.new(@session)
      @users = Users.requests(@session)
    end
  end

  Admin.autoload(:Recovery, "#{__dir__}/admin/recovery.rb")
  introduce(Admin) if respond_to?(:introduce)
end
