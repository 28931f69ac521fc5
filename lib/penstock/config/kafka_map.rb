# frozen_string_literal: true

require_relative "../native/conf"
require_relative "../version"
require_relative "kafka_hash"
require_relative "memory_budget"
require_relative "properties"

module Penstock
  module Config
    # Builds the properties with which a client is opened: the user's, Penstock's defaults for those the user doesn't
    # set, and the ones that Penstock forces. Keys and values are Strings; properties of another kind of client are left
    # out, so one Hash of the user's serves consumers, producer and admin. Stateless.
    module KafkaMap
      # Penstock's defaults. A broker that no longer answers without closing its connections (frozen, or cut off from
      # the network) is only noticed when requests time out, or when the other brokers' metadata no longer name it: with
      # librdkafka's own intervals (60 s, 5 minutes) its partitions are idle for a minute or more. A returning broker is
      # connected to within a second, as with Kafka's own clients, instead of ten.
      SHARED = {
        "socket.timeout.ms" => "30000",
        "topic.metadata.refresh.interval.ms" => "10000",
        "reconnect.backoff.max.ms" => "1000",
        "socket.nagle.disable" => "true",
        "client.software.name" => "penstock",
        "client.software.version" => VERSION
      }.freeze

      # `fetch.queue.backoff.ms` is 1,000 in librdkafka, so a partition that once filled its queue isn't fetched for up
      # to a second. `fetch.wait.max.ms` limits the cost of an idle client.
      CONSUMER = {
        "statistics.interval.ms" => "5000",
        "max.poll.interval.ms" => "300000",
        "auto.commit.interval.ms" => "5000",
        "enable.partition.eof" => "true",
        "coordinator.query.interval.ms" => "10000",
        "fetch.queue.backoff.ms" => "20",
        "fetch.wait.max.ms" => "500"
      }.freeze

      CLASSIC_GROUP = {"partition.assignment.strategy" => "cooperative-sticky"}.freeze

      # A delivery must end with a known result: `message.timeout.ms` < `transaction.timeout.ms` < the producer's own
      # timeout.
      PRODUCER = {
        "statistics.interval.ms" => "5000",
        "message.timeout.ms" => "150000",
        "transaction.timeout.ms" => "165000"
      }.freeze

      ADMIN = {"statistics.interval.ms" => "0"}.freeze

      # librdkafka's default.
      PATTERN_REFRESH = 300_000

      # Outside of production topics are often created and deleted.
      DEVELOPMENT = {"topic.metadata.refresh.interval.ms" => "5000"}.freeze
      DEVELOPMENT_CONSUMER = {**DEVELOPMENT, "allow.auto.create.topics" => "true"}.freeze

      # The ledger tracks and commits offsets.
      FORCED = {"enable.auto.commit" => "false", "enable.auto.offset.store" => "false"}.freeze

      # Properties added by Penstock's patches to librdkafka: a rebalance doesn't stop partitions that stay, and
      # statistics contain only assigned partitions.
      PATCHED = {"rebalance.pause.partitions" => "false", "statistics.assigned.only" => "true"}.freeze

      # A connection that reads outside of consumer groups, with `assign`: what only members of a group have would be in its way.
      READING = {
        **FORCED,
        "enable.partition.eof" => "true", "allow.auto.create.topics" => "false", "statistics.interval.ms" => "0",
        "auto.offset.reset" => "earliest"
      }.freeze
      MEMBERSHIP = %w[
        group.instance.id group.protocol group.remote.assignor partition.assignment.strategy session.timeout.ms
        heartbeat.interval.ms
      ].freeze

      # As the default of `prefetch_budget_bytes`.
      READING_BUDGET_BYTES = 64 * 1024 * 1024
      # So few partitions have as much memory as they can use.
      FEW_LANES = 8

      # The end of a partition is only reported with the answer to a fetch, which waits this long for more records.
      READING_WAIT = {"fetch.wait.max.ms" => "100"}.freeze

      # librdkafka's default, which `max.poll.interval.ms` must not be below.
      SESSION_TIMEOUT = 45_000

      # A member learns of a rebalance with its next heartbeat, and a moving partition has no owner until the last
      # member has learned of it: 3 s with librdkafka's own interval. At most a third of the session timeout.
      HEARTBEAT_INTERVAL = 1_000

      class << self
        # @param settings [Settings]
        # @param group [Routing::SubscriptionGroup]
        # @param lanes [Integer, nil] partitions a member of this group can get, nil when unknown
        # @param patched [Boolean] whether librdkafka has Penstock's patches
        # @return [KafkaHash{String => String}] frozen
        def consumer(settings, group, lanes: nil, patched: Native.patched?)
          user = strings(group.kafka, :consumer)
          ours = [SHARED, CONSUMER, refresh(settings, group), identity(settings, group),
            group_protocol(user, group),
            MemoryBudget.new(settings.prefetch_budget_bytes, lanes).properties]
          forced = [FORCED, (PATCHED if patched), static_membership(settings, group, user)]
          merge(ours, user, forced)
        end

        # @param kafka [Hash] the user's properties, without `group.id` if it doesn't matter
        # @param lanes [Integer] partitions that are read at the same time
        # @param follow [Boolean] whether it waits for new records, instead of ending with those that exist
        # @return [KafkaHash{String => String}] frozen; of a connection that reads outside of consumer groups
        def reading(kafka, lanes: FEW_LANES, follow: false)
          user = strings(kafka, :consumer).except(*MEMBERSHIP)
          ours = [SHARED, CONSUMER, (READING_WAIT unless follow), MemoryBudget.new(READING_BUDGET_BYTES, lanes).properties,
            {"client.id" => "penstock", "group.id" => "penstock-reader"}]
          merge(ours, user, [READING])
        end

        # @param settings [Settings]
        # @return [KafkaHash{String => String}] frozen
        def producer(settings)
          user = strings(settings.kafka, :producer)
          own = {"client.id" => settings.client_id, **answer_time(user)}
          ours = [SHARED, PRODUCER, (DEVELOPMENT unless settings.production?), own]
          merge(ours, user, [transactional(settings)])
        end

        # @param settings [Settings]
        # @return [KafkaHash{String => String}] frozen
        def admin(settings)
          user = strings(settings.kafka.merge(settings.admin.kafka), :admin)
          merge([SHARED, {"client.id" => settings.client_id}], user, [ADMIN, strings(settings.admin.kafka, :admin)])
        end

        # @param settings [Settings]
        # @return [Hash{Symbol => Object}] options for commands called on {Admin}
        def admin_options(settings)
          admin = settings.admin
          {timeout_ms: admin.max_wait_time, visible_ms: admin.max_retries_duration, pause_ms: admin.retry_backoff,
           token_provider: settings.oauth.token_provider_listener}
        end

        # @param hash [Hash] the user's properties
        # @param kind [:consumer, :producer, :admin]
        # @return [Hash{String => String}] the properties for this kind of client
        def strings(hash, kind)
          hash.to_h { |name, value| [name.to_s, value.to_s] }.select { |name, _value| Properties.for?(name, kind) }
        end

        # @return [String] name of this machine
        def hostname
          require "socket" # not at boot: loading it takes as long as all settings together
          Socket.gethostname
        end

        private

        def merge(ours, user, forced = [])
          taken = user.keys.map { |name| Properties.canonical(name) }
          defaults = ours.compact.reduce({}, :merge).reject { |name, _value| taken.include?(Properties.canonical(name)) }
          KafkaHash.from([defaults, user, *forced.compact].reduce(:merge)).freeze
        end

        def identity(settings, group)
          {
            "client.id" => settings.client_id,
            "group.id" => group.consumer_group_id,
            "auto.offset.reset" => group.topics.first&.initial_offset || settings.initial_offset
          }
        end

        # librdkafka requires that a request times out before its transaction does.
        def answer_time(user)
          limit = Integer(user["transaction.timeout.ms"], exception: false)
          (limit && limit < Integer(SHARED["socket.timeout.ms"])) ? {"socket.timeout.ms" => limit.to_s} : {}
        end

        # A pattern makes the client read the metadata of all topics of the cluster each time.
        def refresh(settings, group)
          return DEVELOPMENT_CONSUMER unless settings.production?
          group.topics.any?(&:pattern?) ? {"topic.metadata.refresh.interval.ms" => PATTERN_REFRESH.to_s} : {}
        end

        # Two producers with the same id would fence each other.
        def transactional(settings)
          id = settings.kafka[:"transactional.id"]
          {"transactional.id" => "#{id}-#{settings.node}"} if id && settings.node
        end

        # Under KIP-848 the broker sets strategy and timeouts, and a client that sets them can't be opened.
        def group_protocol(user, group)
          return {} if group.consumer_protocol?

          session = session_timeout(user)
          shorter = {"session.timeout.ms" => session.to_s} if session < SESSION_TIMEOUT
          {**CLASSIC_GROUP, **shorter.to_h, "heartbeat.interval.ms" => [HEARTBEAT_INTERVAL, session / 3].min.to_s}
        end

        def session_timeout(user)
          given = Integer(user["session.timeout.ms"], exception: false)
          given || [Integer(user["max.poll.interval.ms"], exception: false), SESSION_TIMEOUT].compact.min
        end

        # One id per connection: two members with the same id would fence each other. Without a group there is no
        # member.
        def static_membership(settings, group, user)
          prefix = user.delete("group.instance.id") || static_prefix(settings.static_membership)
          return {} if prefix.nil? || group.direct?
          {"group.instance.id" => [prefix, settings.node, group.position, group.connection].compact.join("_")}
        end

        def static_prefix(membership)
          (membership == true) ? hostname : membership || nil
        end
      end
    end
  end
end
