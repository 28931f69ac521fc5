# frozen_string_literal: true

require_relative "../compat/karafka/settings"
require_relative "../errors"
require_relative "types"

module Penstock
  module Config
    # All settings there are: place, kind, default and meaning. Builder, settings, validator and docs/configuration.md are
    # made from this one list, so none of them can forget one.
    module Schema
      # `path` is dotted (`"pause.timeout"`); `default` is frozen.
      Setting = Struct.new(:path, :type, :default, :description) do
        def section
          path.include?(".") ? path.split(".").first : nil
        end

        def name
          path.split(".").last
        end
      end

      MIB = 1024 * 1024
      CRITICAL = [SystemExit, SignalException, NoMemoryError, FencedError].freeze

      # What probes look at.
      HEALTH = [
        Setting.new("health.port", Types::Either.new(Types::Whole.new(min: 1, max: 65_535), nil_allowed: true), nil,
          "Port on which a server or a supervisor answers `GET /live`, `/ready` and `/health`; nil for none."),
        Setting.new("health.host", Types::Host.new, "127.0.0.1",
          "Address it listens on. Probes from elsewhere, as Kubernetes' are, need `\"0.0.0.0\"` (or `\"::\"`).")
      ].freeze

      # Of `penstock swarm`.
      SWARM = [
        Setting.new("swarm.nodes", Types::Whole.new(min: 1, max: 1_000), 3, "How many nodes `penstock swarm` has."),
        Setting.new("swarm.supervision_interval", Types::Milliseconds.new(min: 100), 5_000, "How often a node reports."),
        Setting.new("swarm.liveness_timeout", Types::Milliseconds.new(min: 1), 30_000,
          "How long a node may be silent until it is told to stop, and replaced."),
        Setting.new("swarm.memory_limit", Types::Either.new(Types::Whole.new(min: 1), nil_allowed: true), nil,
          "Bytes of resident memory above which a node is replaced, in order and one at a time; nil for none."),
        Setting.new("swarm.jobs_limit", Types::Either.new(Types::Whole.new(min: 1), nil_allowed: true), nil,
          "Jobs after which a node is replaced, likewise; nil for none."),
        Setting.new("swarm.age_limit", Types::Either.new(Types::Milliseconds.new(min: 1), nil_allowed: true), nil,
          "Age at which a node is replaced, likewise; nil for none."),
        Setting.new("swarm.restart_backoff", Types::Milliseconds.new(min: 1), 1_000,
          "Wait before a node that died while it started is forked again, doubled each time."),
        Setting.new("swarm.restart_backoff_max", Types::Milliseconds.new(min: 1), 60_000,
          "Longest of those waits. A node that dies after it too isn't started again."),
        Setting.new("swarm.mold", Types::Flag.new, false,
          "Whether nodes are forked from a process of its own that is warmed up and does nothing else. Linux only.")
      ].freeze

      # Of commands of {Admin}.
      ADMIN = [
        Setting.new("admin.kafka", Types::Map.new, {}.freeze,
          "Properties for commands called on `Penstock::Admin` itself, and for those of the command line that administer; what " \
          "lacks comes from `kafka`."),
        Setting.new("admin.group_id", Types::Name.new, "penstock_admin",
          Compat::Karafka::Settings.without_effect("admin.group_id")),
        Setting.new("admin.max_wait_time", Types::Milliseconds.new(min: 1), 60_000,
          "Time in which a request has ended that is made by a command called on `Penstock::Admin` itself."),
        Setting.new("admin.max_retries_duration", Types::Milliseconds.new(min: 1_000), 60_000,
          "Time in which what such a command has changed must be visible."),
        Setting.new("admin.retry_backoff", Types::Milliseconds.new(min: 10), 50,
          "Wait before such a command asks again."),
        Setting.new("admin.poll_timeout", Types::Milliseconds.new(min: 1), 50,
          Compat::Karafka::Settings.without_effect("admin.poll_timeout"))
      ].freeze

      SETTINGS = [
        Setting.new("client_id", Types::Name.new, "penstock",
          "Name of this application on the brokers. In production make it tell processes apart."),
        Setting.new("group_id", Types::Name.new, "app", "Consumer group of topics that are in no `consumer_group`."),
        Setting.new("kafka", Types::Map.new, {}.freeze,
          "librdkafka's properties with Symbols as keys; `bootstrap.servers` is needed."),
        Setting.new("logger", Types::Responding.new(:debug, :info, :warn, :error, :fatal), nil,
          "Where log lines go; nil for standard output."),
        Setting.new("monitor", Types::Responding.new(:instrument, :subscribe), nil, "Where events go; nil for our own."),
        Setting.new("concurrency", Types::Whole.new(min: 1), 5, "Most worker threads of the process."),
        Setting.new("worker_thread_priority", Types::Whole.new(min: -3, max: 3), -1,
          "Priority of worker threads. Below 0, poll loops get their turn first."),
        Setting.new("max_messages", Types::Whole.new(min: 1), 100, "Most messages of one call of `consume`."),
        Setting.new("max_wait_time", Types::Milliseconds.new(min: 1), 1_000,
          Compat::Karafka::Settings.without_effect("max_wait_time")),
        Setting.new("shutdown_timeout", Types::Milliseconds.new(min: 1), 60_000, "Time in which a stop has ended."),
        Setting.new("yjit", Types::Flag.new, true,
          "Whether servers and nodes switch Ruby's compiler on, from Ruby 3.3; older ones need `RUBYOPT=--yjit` at their start."),
        Setting.new("initial_offset", Types::Word.new("earliest", "latest"), "earliest",
          "Where a group begins that has committed nothing. `auto.offset.reset` in `kafka` wins."),
        Setting.new("consumer_persistence", Types::Flag.new, true,
          "One consumer instance as long as a partition is assigned; false for one each batch."),
        Setting.new("pause.timeout", Types::Milliseconds.new(min: 1), 1_000, "Wait before the first retry, doubled once."),
        Setting.new("pause.max_timeout", Types::Milliseconds.new(min: 1), 30_000, "Longest wait before a retry."),
        Setting.new("pause.with_exponential_backoff", Types::Flag.new, true, "Whether the wait doubles each time."),
        Setting.new("strict_topics_namespacing", Types::Flag.new, true,
          "Refuses names that mix dots and underscores, or that differ by them only: metrics would mix them up."),
        Setting.new("strict_declarative_topics", Types::Flag.new, false,
          "Refuses routes of a topic, or of a dead letter topic, without `config(…)`, which says how it ought to be on the " \
          "cluster. Patterns need none."),
        Setting.new("producer", Types::Responding.new(:produce_async, :produce_sync, :close), nil,
          "The application's producer; nil for one made from `kafka`. A block given to it configures that one."),
        Setting.new("oauth.token_provider_listener", Types::Responding.new(:on_oauthbearer_token_refresh), nil,
          "Object that brings OAuth tokens for consumers, producer and admin."),
        *ADMIN,
        Setting.new("critical_errors", Types::Exceptions.new, CRITICAL,
          "Errors of `consume` that stop the process instead of being retried."),
        Setting.new("prefetch_budget_bytes", Types::Whole.new(min: MIB), 64 * MIB,
          "Memory for records fetched ahead, for all partitions of a process together."),
        Setting.new("window_records", Types::Whole.new(min: 1), 1_000,
          "Most records of a partition at hand while keys run side by side: waiting, running or being retried."),
        Setting.new("window_bytes", Types::Whole.new(min: 1_024), 16 * MIB,
          "Most bytes of a partition taken at once, and at hand while keys run side by side."),
        Setting.new("revocation_drain", Types::Either.new(Types::Milliseconds.new, nil_allowed: true), nil,
          "Time units of a revoked partition have to end; nil for 30 s, 5 s under eager protocols, 2 s with a librdkafka " \
          "without our patches."),
        Setting.new("static_membership", Types::Either.new(Types::Flag.new, Types::Name.new), false,
          "Keeps partitions over a restart. true takes the host's name, a String is the id to use."),
        Setting.new("lag_compensation.interval", Types::Milliseconds.new, 30_000,
          "How often at most the end of partitions that are paused or busy is asked for, so that their lag in statistics " \
          "moves on; 0 for never."),
        Setting.new("lag_compensation.pause_age", Types::Milliseconds.new, 30_000,
          "How long nothing was fetched of a partition until its end is asked for."),
        Setting.new("flight_recorder", Types::Flag.new, true,
          "Keeps the last 256 events of each partition, without payloads, for a dump (`penstock replay`)."),
        Setting.new("flight_recorder_path", Types::Either.new(Types::Folder.new, nil_allowed: true), nil,
          "Folder of its dumps; nil for the system's temporary one."),
        Setting.new("flight_recorder_keys", Types::Flag.new, false,
          "Writes records' keys as they are; otherwise what two equal keys have in common, and no more."),
        *HEALTH, *SWARM
      ].freeze

      BY_PATH = SETTINGS.to_h { |setting| [setting.path, setting] }.freeze

      # Former names of settings, both are accepted.
      FLAT = Compat::Karafka::Settings::FLAT

      SECTIONS = SETTINGS.filter_map(&:section).uniq.freeze

      # @param section [String, nil] nil for the top level
      # @return [Array<Setting>]
      def self.in_section(section)
        SETTINGS.select { |setting| setting.section == section }
      end
    end
  end
end
