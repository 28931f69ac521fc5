# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Karafka's settings: those that Penstock accepts without effect, those it accepts under their former names, and those it
      # doesn't have, each with what to do instead. Without state.
      module Settings
        LATER = "this version has no"
        ORDER = "Leave it out: `workers max:, priority:, weight:` of a topic say who comes first"
        private_constant :LATER, :ORDER

        # Accepted, so that a configuration of Karafka boots, and why they have no effect. By dotted path; those of a topic have
        # their name only.
        WITHOUT_EFFECT = {
          "admin.group_id" => "admin calls join no group.",
          "admin.poll_timeout" => "admin calls poll nothing.",
          "max_wait_time" => "a batch is what is there when a worker is free.",
          "long_running_job" => "every job may run long."
        }.freeze

        # Karafka's names before it nested them, and the settings they are.
        FLAT = {
          "pause_timeout" => "pause.timeout",
          "pause_max_timeout" => "pause.max_timeout",
          "pause_with_exponential_backoff" => "pause.with_exponential_backoff"
        }.freeze

        # Those that don't exist here, by dotted path. One that isn't listed goes by the longest path above it.
        INSTEAD = {
          "internal" => "Leave it out: Penstock's inside isn't replaced by settings",
          "internal.active_job" => "Leave it out: #{LATER} Active Job adapter",
          "internal.connection" => "Leave it out: Penstock's connections have no such parts",
          "internal.connection.listener_thread_priority" =>
            "Say config.worker_thread_priority: below 0, workers give way to poll loops",
          "internal.connection.proxy" => "Leave it out: what passes by itself is asked again within the time of the call",
          "internal.connection.reset_backoff" =>
            "Leave it out: a connection that failed is opened again after 0.5 s, doubling up to a minute",
          "internal.forceful_exit_code" => "Leave it out: a stop by force ends with code 2",
          "internal.forceful_shutdown_wait" => "Leave it out: config.shutdown_timeout is the whole time of a stop",
          "internal.messages.parser" => "Say `deserializers` in `defaults` or in a topic",
          "internal.processing" =>
            "Leave it out: code of yours goes into `filter`, `parallel`, a consumer's `wrap`, or middleware",
          "internal.processing.critical_errors" => "Say config.critical_errors",
          "internal.processing.jobs_queue_class" => ORDER,
          "internal.processing.scheduler_class" => ORDER,
          "internal.processing.worker_job_call_wrapper" => "Put it into the middleware: `middleware { use Wrapper }`",
          "internal.routing.activity_manager" =>
            "Say it to the command: penstock server --include-topics, --exclude-consumer-groups …",
          "internal.statistics.consumer_groups.lag_compensation.interval" => "Say config.lag_compensation.interval",
          "internal.statistics.consumer_groups.lag_compensation.pause_age" => "Say config.lag_compensation.pause_age",
          "internal.supervision_sleep" => "Leave it out: a stop waits for what ends, not for a step",
          "internal.swarm.liveness_interval" => "Say config.swarm.supervision_interval: how often a node reports",
          "internal.swarm.node_report_timeout" => "Say config.swarm.liveness_timeout",
          "internal.swarm.node_restart_timeout" =>
            "Say config.swarm.restart_backoff; only a node that died while it started is waited for",
          "internal.swarm.orphaned_exit_code" => "Leave it out: a node without a supervisor ends with code 3",
          "internal.swarm.supervision_interval" =>
            "Leave it out: a node's end is heard of at once. config.swarm.supervision_interval is how often nodes report",
          "internal.tick_interval" => "Leave it out: no loop waits for a tick",
          "active_job" => "Leave it out: #{LATER} Active Job adapter",
          "encryption" => "#{LATER.capitalize} encryption: a producer's middleware and a topic's `deserializers` can do it",
          "license" => "Leave it out: there is nothing to be licensed",
          "recurring_tasks" => "#{LATER.capitalize} recurring tasks: leave them where they are",
          "scheduled_messages" => "#{LATER.capitalize} scheduled messages: `delay_by` delays a whole topic",
          "swarm.node" => "The framework says it: PenstockApp.node is the node's number, nil in a process that is none"
        }.freeze

        # Those of a producer (WaterDrop's) that don't exist here.
        PRODUCER = {
          "polling" => "Leave it out: a thread in C polls each producer",
          "statistics_decorator" => "Leave it out: statistics have `_d` and `_fd` of every number"
        }.freeze

        class << self
          # @param path [String] dotted
          # @return [String, nil] what to do instead; nil if Karafka has no such setting either
          def instead(path)
            parts = path.split(".")
            parts.size.downto(1).filter_map { |count| INSTEAD[parts.first(count).join(".")] }.first
          end

          # @param path [String] dotted
          # @return [String] the description of a setting without effect
          def without_effect(path) = "Accepted, without effect: #{WITHOUT_EFFECT.fetch(path)}"

          # @param path [String] of a section of settings that a running application has
          # @return [String] the error text for reading it
          def unreadable(path) = "there is no config.#{path}. #{INSTEAD.fetch(path)}"
        end
      end
    end
  end
end
