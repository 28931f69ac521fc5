# frozen_string_literal: true

require_relative "../compat/karafka/settings"
require_relative "../errors"
require_relative "types"

module Penstock
  module Config
    # The list of all settings: path, type, default and meaning. Builder, settings, validator and docs/configuration.md
    # are all generated from this list, so none of them can miss one.
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

      # Settings of the health page.
      HEALTH = [
        Setting.new("health.port", Types::Either.new(Types::Whole.new(min: 1, max: 65_535), nil_allowed: true), nil,
          "Port on which a server or a supervisor answers `GET /live`, `/ready`, `/health` and, with " \
          "`metrics`, `/metrics`; nil: no health page."),
        Setting.new("health.host", Types::Host.new, "127.0.0.1",
          "Address it listens on. Probes from other hosts, such as Kubernetes', need `\"0.0.0.0\"` (or `\"::\"`).")
      ].freeze

      # Settings of `penstock swarm`.
      SWARM = [
        Setting.new("swarm.nodes", Types::Whole.new(min: 1, max: 1_000), 3, "Number of nodes of `penstock swarm`."),
        Setting.new("swarm.supervision_interval", Types::Milliseconds.new(min: 100), 5_000, "Interval at which a node " \
          "reports to its supervisor."),
        Setting.new("swarm.liveness_timeout", Types::Milliseconds.new(min: 1), 30_000,
          "A node that hasn't reported for this time is stopped and replaced."),
        Setting.new("swarm.memory_limit", Types::Either.new(Types::Whole.new(min: 1), nil_allowed: true), nil,
          "Resident memory in bytes above which a node is stopped cleanly and replaced, one node at a time; nil: no limit."),
        Setting.new("swarm.jobs_limit", Types::Either.new(Types::Whole.new(min: 1), nil_allowed: true), nil,
          "Number of jobs after which a node is replaced in the same way; nil: no limit."),
        Setting.new("swarm.age_limit", Types::Either.new(Types::Milliseconds.new(min: 1), nil_allowed: true), nil,
          "Age at which a node is replaced in the same way; nil: no limit."),
        Setting.new("swarm.restart_backoff", Types::Milliseconds.new(min: 1), 1_000,
          "Wait before forking a node again that died during its start, doubled each time."),
        Setting.new("swarm.restart_backoff_max", Types::Milliseconds.new(min: 1), 60_000,
          "Longest of these waits. A node that dies again after this wait isn't started again."),
        Setting.new("swarm.mold", Types::Flag.new, false,
          "Whether nodes are forked from a mold, a warmed-up process that does nothing else. Linux only.")
      ].freeze

      # Settings of {Admin}'s commands.
      ADMIN = [
        Setting.new("admin.kafka", Types::Map.new, {}.freeze,
          "Properties for requests made through `Penstock::Admin` and the command line's administration commands; missing ones " \
          "come from `kafka`."),
        Setting.new("admin.group_id", Types::Name.new, "penstock_admin",
          Compat::Karafka::Settings.without_effect("admin.group_id")),
        Setting.new("admin.max_wait_time", Types::Milliseconds.new(min: 1), 60_000,
          "Timeout for requests made through `Penstock::Admin`."),
        Setting.new("admin.max_retries_duration", Types::Milliseconds.new(min: 1_000), 60_000,
          "Timeout for a change made through `Penstock::Admin` to become visible."),
        Setting.new("admin.retry_backoff", Types::Milliseconds.new(min: 10), 50,
          "Interval at which `Penstock::Admin` checks whether a change is visible."),
        Setting.new("admin.poll_timeout", Types::Milliseconds.new(min: 1), 50,
          Compat::Karafka::Settings.without_effect("admin.poll_timeout"))
      ].freeze

      SETTINGS = [
        Setting.new("client_id", Types::Name.new, "penstock",
          "Name of this application on the brokers. In production use a different one for each process."),
        Setting.new("group_id", Types::Name.new, "app", "Consumer group of topics outside of a `consumer_group`."),
        Setting.new("kafka", Types::Map.new, {}.freeze,
          "librdkafka's properties with Symbols as keys; `bootstrap.servers` is required."),
        Setting.new("logger", Types::Responding.new(:debug, :info, :warn, :error, :fatal), nil,
          "Logger for log lines; nil: one for standard output, which `config.logger` returns."),
        Setting.new("log_format", Types::Word.new("text", "json"), "text",
          "`:json` writes one JSON object per entry, for log collectors."),
        Setting.new("monitor", Types::Responding.new(:instrument, :subscribe), nil, "Monitor for events; nil: Penstock's own."),
        Setting.new("metrics", Types::Flag.new, false,
          "Whether events are counted for Prometheus: `GET /metrics` on `health.port`."),
        Setting.new("lock_metrics", Types::Flag.new, false,
          "Whether waits of worker threads for Ruby's lock are measured, for metrics, `penstock status` and advice in the log."),
        Setting.new("concurrency", Types::Whole.new(min: 1), 5, "Maximum number of worker threads of the process."),
        Setting.new("worker_thread_priority", Types::Whole.new(min: -3, max: 3), -1,
          "Priority of worker threads. Below 0, poll loops run first."),
        Setting.new("max_messages", Types::Whole.new(min: 1), 100, "Maximum number of messages per call of `consume`."),
        Setting.new("max_wait_time", Types::Milliseconds.new(min: 1), 1_000,
          Compat::Karafka::Settings.without_effect("max_wait_time")),
        Setting.new("shutdown_timeout", Types::Milliseconds.new(min: 1), 60_000, "Time limit of a stop."),
        Setting.new("yjit", Types::Flag.new, true,
          "Whether servers and nodes switch on YJIT, from Ruby 3.3 on; older versions need `RUBYOPT=--yjit` at their start."),
        Setting.new("initial_offset", Types::Word.new("earliest", "latest"), "earliest",
          "Where a group without committed offsets begins. `auto.offset.reset` in `kafka` overrides it."),
        Setting.new("consumer_persistence", Types::Flag.new, true,
          "One consumer instance as long as a partition is assigned; false: one per batch."),
        Setting.new("pause.timeout", Types::Milliseconds.new(min: 1), 1_000, "Base of the exponential back-off: the first " \
          "retry waits twice this long."),
        Setting.new("pause.max_timeout", Types::Milliseconds.new(min: 1), 30_000, "Longest wait before a retry."),
        Setting.new("pause.with_exponential_backoff", Types::Flag.new, true, "Whether the wait doubles with each retry."),
        Setting.new("strict_topics_namespacing", Types::Flag.new, true,
          "Refuses topic names that mix dots and underscores, or that differ only in them: they are ambiguous in metrics."),
        Setting.new("strict_declarative_topics", Types::Flag.new, false,
          "Refuses routes of a topic, or of a dead letter topic, without `config(…)`, which declares its state on the " \
          "cluster. Patterns need none."),
        Setting.new("producer", Types::Responding.new(:produce_async, :produce_sync, :close), nil,
          "The application's producer; nil: one built from `kafka`. A block configures that one."),
        Setting.new("oauth.token_provider_listener", Types::Responding.new(:on_oauthbearer_token_refresh), nil,
          "Listener that provides OAuth tokens for consumers, producer and admin."),
        *ADMIN,
        Setting.new("critical_errors", Types::Exceptions.new, CRITICAL,
          "Errors of `consume` that stop the process instead of being retried."),
        Setting.new("prefetch_budget_bytes", Types::Whole.new(min: MIB), 64 * MIB,
          "Memory for prefetched records, for all partitions of a process together."),
        Setting.new("window_records", Types::Either.new(Types::Whole.new(min: 1), nil_allowed: true), nil,
          "Maximum number of a partition's records in progress while keys run in parallel: waiting, running or being retried. " \
          "nil: 100 per worker, from 1,000 to 5,000. Never less than twice `max_messages`."),
        Setting.new("window_bytes", Types::Whole.new(min: 1_024), 16 * MIB,
          "Maximum number of bytes of a partition taken at once, and in progress while keys run in parallel."),
        Setting.new("revocation_drain", Types::Either.new(Types::Milliseconds.new, nil_allowed: true), nil,
          "Time limit for units of a revoked partition to end; nil: 30 s, 5 s under eager protocols, 2 s with a librdkafka " \
          "without Penstock's patches."),
        Setting.new("static_membership", Types::Either.new(Types::Flag.new, Types::Name.new), false,
          "Keeps partitions during a restart. true uses the host's name as the member id, a String is the id."),
        Setting.new("lag_compensation.interval", Types::Milliseconds.new, 30_000,
          "Shortest interval at which the end of paused or busy partitions is read, to update their lag in " \
          "statistics; 0: never."),
        Setting.new("lag_compensation.pause_age", Types::Milliseconds.new, 30_000,
          "Time without a fetch after which the end of a partition is read."),
        Setting.new("flight_recorder", Types::Flag.new, true,
          "Whether the last 256 entries of each partition are recorded, without payloads, for a dump (`penstock replay`)."),
        Setting.new("flight_recorder_path", Types::Either.new(Types::Folder.new, nil_allowed: true), nil,
          "Folder of the dumps; nil: the system's temporary folder."),
        Setting.new("flight_recorder_keys", Types::Flag.new, false,
          "Whether records' keys are recorded as they are; otherwise only a value that is the same for equal keys."),
        *HEALTH, *SWARM
      ].freeze

      BY_PATH = SETTINGS.to_h { |setting| [setting.path, setting] }.freeze

      # Former names of settings; both names are accepted.
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
