# frozen_string_literal: true

require_relative "metric"

module Penstock
  module Instrumentation
    # Numbers for monitoring systems, counted from events: the list of all metrics, their values, and the text that Prometheus
    # reads. Loaded and subscribed only with `config.metrics = true`.
    module Metrics
      # The list of all metrics. Names follow Prometheus' conventions: base units, `_total` for counters. The table of
      # docs/monitoring.md is generated from it.
      module Catalogue
        # Upper limits of the buckets of a duration, in seconds.
        SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300].freeze
        # Upper limits of the buckets of a batch, in messages.
        SIZES = [1, 5, 10, 50, 100, 500, 1_000, 5_000].freeze
        LOST_PARTITIONS = ->(payload) { payload[:tpl].size if payload[:lost] }
        # The other reason, a log that went backwards, loses nothing.
        DELETED = ->(payload) { payload[:count] if payload[:new_offset].to_i > payload[:old_offset].to_i }
        private_constant :LOST_PARTITIONS, :DELETED

        class << self
          private

          def counter(name, help, events, *labels, unit: nil, amount: nil)
            row(name: name, kind: :counter, help: help, events: events, labels: labels, unit: unit, amount: amount)
          end

          def gauge(name, help, events, *labels, unit: nil, amount: nil)
            row(name: name, kind: :gauge, help: help, events: events, labels: labels, unit: unit, amount: amount)
          end

          def histogram(name, help, events, *labels, unit: :seconds, amount: :time, buckets: SECONDS)
            row(name: name, kind: :histogram, help: help, events: events, labels: labels, unit: unit, amount: amount,
              buckets: buckets)
          end

          def row(events:, **rest) = Metric.new(events: [*events].freeze, **rest).freeze
        end

        CONSUMERS = [
          counter("penstock_consumer_messages_total", "Messages of calls of consume that ended without an error.",
            "consumer.consumed", :group, :topic, unit: :messages, amount: :messages_count),
          histogram("penstock_consumer_consume_duration_seconds", "Duration of calls of consume that ended without an error.",
            "consumer.consumed", :group, :topic),
          histogram("penstock_consumer_batch_size_messages", "Messages per call of consume.", "consumer.consumed", :group, :topic,
            unit: :messages, amount: :messages_count, buckets: SIZES),
          gauge("penstock_consumer_lag_messages", "Messages of an assigned partition that are not committed yet.",
            "statistics.emitted", :group, :topic, :partition, unit: :messages),
          counter("penstock_consumer_retries_total", "Retries that began.", "consumer.consuming.retry", :topic),
          counter("penstock_consumer_dead_letters_total", "Records sent to a dead letter topic.", "dead_letter_queue.dispatched",
            :topic, unit: :messages),
          counter("penstock_consumer_retry_topic_messages_total", "Records sent to a retry topic.", "retry_topic.dispatched",
            :topic, unit: :messages),
          counter("penstock_consumer_skipped_messages_total", "Records that failed permanently and were skipped.",
            "consumer.skipped", :topic, unit: :messages),
          counter("penstock_consumer_quarantined_messages_total", "Records that are not run again because they killed the " \
            "process.", "consumer.quarantined", :topic, unit: :messages),
          counter("penstock_consumer_dropped_messages_total", "Messages that were filtered or have expired.",
            "filtering.dropped", :topic, :reason, unit: :messages, amount: :count),
          counter("penstock_consumer_expired_messages_total", "Expired records sent to the topic of expire_in.",
            "filtering.expired", :topic, unit: :messages),
          counter("penstock_consumer_lost_messages_total", "Messages that retention deleted before they were read, " \
            "and those that a group skipped then because it continues at the log's end.",
            "consumer.offset_reset", :topic, unit: :messages, amount: DELETED),
          counter("penstock_consumer_starved_partitions_total", "Partitions that waited over 5 seconds for a worker.",
            "partition.starved", :topic),
          counter("penstock_consumer_time_limits_total", "Calls of consume that exceeded their time limit.",
            "consumer.time_limit", :topic),
          counter("penstock_consumer_breaker_openings_total", "Breakers that opened because a topic's records failed alike.",
            "breaker.opened", :topic),
          gauge("penstock_consumer_breakers_open", "Breakers that are open.", [], :topic)
        ].freeze

        GROUPS = [
          counter("penstock_consumer_rebalances_total", "Assignments of partitions, also empty ones.",
            "rebalance.partitions_assigned", :group),
          counter("penstock_consumer_lost_partitions_total", "Partitions that another member got before they were revoked.",
            "rebalance.partitions_revoked", :group, amount: LOST_PARTITIONS),
          counter("penstock_consumer_connection_resets_total", "Connections that were re-opened after an error.", "client.reset",
            :group)
        ].freeze

        PRODUCERS = [
          counter("penstock_producer_messages_total", "Messages that Kafka has stored.", "message.acknowledged", :topic,
            unit: :messages),
          histogram("penstock_producer_delivery_duration_seconds", "Duration of calls that produce and wait for the delivery.",
            %w[message.produced_sync messages.produced_sync]),
          gauge("penstock_producer_queue_messages", "Messages that wait for their delivery.", "statistics.emitted",
            unit: :messages),
          counter("penstock_producer_queue_full_total", "Times that a producer waited because its queue was full.",
            "producer.queue_full"),
          counter("penstock_producer_undelivered_messages_total", "Messages that were not delivered when their producer was " \
            "closed.", "producer.undelivered", unit: :messages, amount: :count),
          counter("penstock_producer_reloads_total", "Clients of producers that were replaced after an error.",
            "producer.reloaded")
        ].freeze

        OUTBOX = [
          counter("penstock_outbox_relayed_messages_total", "Messages of the outbox that Kafka has stored.", "outbox.relayed",
            :table, unit: :messages, amount: :messages_count),
          gauge("penstock_outbox_pending_rows", "Rows that are to be sent.", "outbox.lag", :table, amount: :count),
          gauge("penstock_outbox_parked_rows", "Rows that were refused and are tried again.", "outbox.lag", :table,
            amount: :parked),
          gauge("penstock_outbox_aside_rows", "Rows that were set aside and wait for a person.", "outbox.lag", :table,
            amount: :aside),
          gauge("penstock_outbox_oldest_age_seconds", "Age of the oldest row that is to be sent; 0 without one.", "outbox.lag",
            :table, unit: :seconds, amount: ->(payload) { payload[:oldest_age_ms] || 0 })
        ].freeze

        PROCESSES = [
          counter("penstock_errors_total", "Events error.occurred, by their type and the class of the error.", "error.occurred",
            :topic, :type, :error),
          histogram("penstock_job_duration_seconds", "Duration of jobs of Active Job that raised nothing.",
            "active_job.consumed", :topic, :job),
          gauge("penstock_workers", "Worker threads that there may be.", %w[worker.scaling.up worker.scaling.down], amount: :to),
          counter("penstock_worker_busy_seconds_total", "With lock_metrics: time that worker threads were busy, added up.",
            "workers.measured", unit: :seconds, amount: :busy_ms),
          counter("penstock_worker_lock_wait_seconds_total", "With lock_metrics: part of that time in which they waited for " \
            "Ruby's lock; an estimate on Ruby 3.1.", "workers.measured", unit: :seconds, amount: :lock_wait_ms),
          gauge("penstock_running_jobs", "Units that run now.", []),
          gauge("penstock_partitions", "Assigned partitions.", []),
          gauge("penstock_live", "1 if no poll loop is blocked, as /live.", []),
          gauge("penstock_ready", "1 if the process is a member of all its groups, as /ready; only of servers.", []),
          gauge("process_resident_memory_bytes", "Resident memory.", [], unit: :bytes),
          gauge("process_start_time_seconds", "Start of counting, in seconds since 1970.", [])
        ].freeze

        SWARM = [
          gauge("penstock_swarm_node_up", "1 if the node runs and reports its metrics.", [], :node),
          counter("penstock_swarm_node_ends_total", "Nodes that ended, for any reason.", "swarm.manager.node_ended", :node),
          counter("penstock_swarm_node_kills_total", "Nodes that were killed because they did not stop in time.",
            "swarm.manager.terminating", :node),
          counter("penstock_swarm_nodes_held_down_total", "Nodes that died so often while they started that they are not " \
            "started again.", "swarm.manager.held_down", :node)
        ].freeze

        # All metrics, in the order in which they are shown.
        ALL = [*CONSUMERS, *GROUPS, *PROCESSES, *PRODUCERS, *OUTBOX, *SWARM].freeze
      end
    end
  end
end
