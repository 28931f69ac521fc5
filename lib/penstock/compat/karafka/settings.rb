# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists Karafka's settings: those that Penstock accepts without effect, those it accepts under their former names,
      # and those it doesn't have, with what to do instead. Stateless.
      module Settings
        LATER = "this version has no"
        ORDER = "Remove it: `workers max:, priority:, weight:` of a topic set the order"
        private_constant :LATER, :ORDER

        # Accepted, so that Karafka's configuration boots, with the reason why they have no effect. By dotted path;
        # topic options by name only.
        WITHOUT_EFFECT = {
          "admin.group_id" => "admin calls join no group.",
          "admin.poll_timeout" => "admin calls poll nothing.",
          "max_wait_time" => "a batch contains the messages available when a worker is free.",
          "long_running_job" => "every job may run for a long time."
        }.freeze

        # Karafka's names before it nested these settings, and their settings.
        FLAT = {
          "pause_timeout" => "pause.timeout",
          "pause_max_timeout" => "pause.max_timeout",
          "pause_with_exponential_backoff" => "pause.with_exponential_backoff"
        }.freeze

        # Settings that don't exist here, by dotted path. The longest listed path above a setting applies to it.
        INSTEAD = {
          "internal" => "Remove it: Penstock's internals can't be replaced by settings",
          "internal.active_job" => "Remove it: write `deserializers` or `consumer` in the block of active_job_topic",
          "internal.connection" => "Remove it: Penstock's connections have no such parts",
          "internal.connection.listener_thread_priority" =>
            "Use config.worker_thread_priority: below 0, poll loops run before workers",
          "internal.connection.proxy" => "Remove it: temporary errors are retried within the time limit of the call",
          "internal.connection.reset_backoff" =>
            "Remove it: a failed connection is re-opened after 0.5 s, doubling up to a minute",
          "internal.forceful_exit_code" => "Remove it: a stop by force ends with code 2",
          "internal.forceful_shutdown_wait" => "Remove it: config.shutdown_timeout is the time limit of the whole stop",
          "internal.messages.parser" => "Use `deserializers` in `defaults` or in a topic",
          "internal.processing" =>
            "Remove it: put your code into `filter`, `parallel`, a consumer's `wrap`, or middleware",
          "internal.processing.critical_errors" => "Use config.critical_errors",
          "internal.processing.jobs_queue_class" => ORDER,
          "internal.processing.scheduler_class" => ORDER,
          "internal.processing.worker_job_call_wrapper" =>
            "Put it into the middleware: `middleware { around_user_code Wrapper.new }`",
          "internal.routing.activity_manager" =>
            "Use options of the command: penstock server --include-topics, --exclude-consumer-groups …",
          "internal.statistics.consumer_groups.lag_compensation.interval" => "Use config.lag_compensation.interval",
          "internal.statistics.consumer_groups.lag_compensation.pause_age" => "Use config.lag_compensation.pause_age",
          "internal.supervision_sleep" => "Remove it: a stop waits for jobs to end, not for an interval",
          "internal.swarm.liveness_interval" => "Use config.swarm.supervision_interval, the interval at which a node reports",
          "internal.swarm.node_report_timeout" => "Use config.swarm.liveness_timeout",
          "internal.swarm.node_restart_timeout" =>
            "Use config.swarm.restart_backoff; it applies only to a node that died during its start",
          "internal.swarm.orphaned_exit_code" => "Remove it: a node without a supervisor ends with code 3",
          "internal.swarm.supervision_interval" =>
            "Remove it: a node's end is noticed at once. config.swarm.supervision_interval is how often nodes report",
          "internal.tick_interval" => "Remove it: no loop waits for a tick",
          "active_job" => "Remove it: write `deserializers` or `consumer` in the block of active_job_topic",
          "encryption" => "#{LATER.capitalize} encryption: use a producer's middleware and a topic's `deserializers`",
          "license" => "Remove it: Penstock needs no license",
          "recurring_tasks" => "#{LATER.capitalize} recurring tasks: leave them where they are",
          "scheduled_messages" => "Remove it: `delay_topics` in the routes has what `PenstockApp.delays.schedule` needs",
          "swarm.node" => "Read PenstockApp.node instead: the node's number, nil in a process that isn't a node"
        }.freeze

        # Settings of a producer (WaterDrop's) that don't exist here.
        PRODUCER = {
          "polling" => "Remove it: a thread in C polls each producer",
          "statistics_decorator" => "Remove it: statistics have `_d` and `_fd` for every number"
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

          # @param path [String] of a section of settings in a running application
          # @return [String] the error text for reading it
          def unreadable(path) = "there is no config.#{path}. #{INSTEAD.fetch(path)}"
        end
      end
    end
  end
end
