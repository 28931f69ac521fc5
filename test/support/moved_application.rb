# frozen_string_literal: true

require "json"
require "logger"
require "stringio"

# The `karafka.rb` of a Rails application that has grown over years, after its constants were renamed and what Penstock
# refuses was removed: it contains everything that the migration page declares to be the same.
module MovedApplication
  class Json
    def call(message) = message.raw_payload && JSON.parse(message.raw_payload)
  end

  class Keys
    def call(metadata) = metadata.raw_key&.to_sym
  end

  class OfficeHours < Penstock::Filter
    def apply!(messages)
      night, day = messages.partition { |message| message.timestamp.hour < 6 }
      @applied, @cursor = night.any?, night.first
      messages.replace(day)
    end

    def action = applied? ? :pause : :skip
    def timeout = 60_000
  end

  class Strategy
    def call(errors, attempt)
      return :skip if errors.last.is_a?(KeyError)

      (attempt > 3) ? [:dispatch, "hard_dead"] : :retry
    end
  end

  class ApplicationConsumer < Penstock::BaseConsumer
  end

  class OrdersConsumer < ApplicationConsumer
    def initialized = (@seen = 0)

    def consume
      messages.each(clean: true) do |message|
        next if message.tombstone?

        tags.add(:kind, message.headers["kind"])
        mark_as_consumed(message, "at #{message.metadata.offset}")
      end
      pause(messages.first.offset, 1_000) if retrying? && attempt > 3
      commit_offsets!
    end

    def revoked = tags.clear
    def shutdown = tags.clear
  end

  class EventsConsumer < ApplicationConsumer
    def consume
      each { |message| dispatch_to_dlq(message) if message.payload.nil? && respond_to?(:dispatch_to_dlq) }
      seek(Time.now - 60) if insights? && statistics.fetch("consumer_lag", 0) > 1_000_000
      collapse_until!(messages.last.offset) if errors_tracker.size > 3 && !collapsed?
    end

    def tick = synchronize { commit_offsets }
    def eofed = nil
  end

  class Metrics
    def on_consumer_consumed(event) = event[:caller].messages.size
    def on_error_occurred(event) = event[:type]
    def on_statistics_emitted(event) = event[:statistics]["rxmsgs_d"]
    def on_worker_processed(event) = event[:jobs_queue].statistics
  end

  SETUP = lambda do |config|
    config.client_id = "shop"
    config.group_id = "shop"
    config.kafka = {
      "bootstrap.servers": "127.0.0.1:1", "security.protocol": "plaintext", "max.poll.interval.ms": 300_000,
      "session.timeout.ms": 45_000, "auto.offset.reset": "earliest", "enable.partition.eof": true,
      "statistics.interval.ms": 5_000, "fetch.message.max.bytes": 5_242_880,
      "partition.assignment.strategy": "cooperative-sticky", "request.required.acks": "all",
      "enable.idempotence": true, "linger.ms": 20, "queue.buffering.max.messages": 200_000
    }
    config.concurrency = 10
    config.max_messages = 500
    config.max_wait_time = 500
    config.shutdown_timeout = 45_000
    config.initial_offset = "earliest"
    config.consumer_persistence = true
    config.pause.timeout = 500
    config.pause.max_timeout = 10_000
    config.pause.with_exponential_backoff = true
    config.strict_topics_namespacing = true
    config.strict_declarative_topics = true
    config.worker_thread_priority = -2
    config.logger = Logger.new(StringIO.new)
    config.swarm.nodes = 2
    config.admin.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    config.admin.group_id = "shop_admin"
    config.admin.max_wait_time = 10_000
    config.admin.max_retries_duration = 30_000
    config.admin.retry_backoff = 500
    config.admin.poll_timeout = 50
    config.producer do |producer_config|
      producer_config.kafka[:"compression.type"] = "gzip"
      producer_config.max_payload_size = 500_000
      producer_config.wait_on_queue_full = true
      producer_config.idle_disconnect_timeout = 300_000
      producer_config.reload_on_idempotent_fatal_error = true
      producer_config.middleware.append(->(message) { message.merge(headers: {"app" => "shop", **message[:headers].to_h}) })
    end
  end

  ROUTES = proc do
    defaults do
      config(partitions: 2, replication_factor: 1, "retention.ms": 86_400_000)
      deserializers(payload: Json.new, key: Keys.new)
      dead_letter_queue(topic: "dead", max_retries: 2, independent: true)
    end

    topic :orders do
      consumer OrdersConsumer
      max_messages 50
      manual_offset_management true
      long_running_job true
      pause(timeout: 100, max_timeout: 1_000, with_exponential_backoff: true)
      dead_letter_queue(topic: "dead", max_retries: 3, dispatch_method: :produce_sync, marking_method: :mark_as_consumed!,
        mark_after_dispatch: true, transactional: false, strategy: Strategy.new)
    end

    topic :dead do
      active false
      deserializer ->(message) { message.raw_payload }
    end

    consumer_group :reports do
      subscription_group :heavy do
        multiplexing(min: 1, max: 3, boot: 2, scale_delay: 30_000)
        topic :reports do
          consumer OrdersConsumer
          kafka({"fetch.min.bytes": 1}, inherit: true)
          initial_offset "latest"
          offset_metadata(cache: true, deserializer: ->(string) { string.to_s.upcase })
        end
      end

      topic :delayed do
        consumer OrdersConsumer
        delay_by 1_000
        expire_in 3_600_000
        throttle(limit: 100, interval: 1_000)
        filter ->(_topic, _partition) { OfficeHours.new }
      end
    end

    consumer_group "events" do
      topic "events" do
        consumer EventsConsumer
        virtual_partitions(partitioner: ->(message) { message.headers["tenant"] || message.offset }, max_partitions: 5,
          offset_metadata_strategy: :exact, distribution: :balanced)
        inline_insights(required: true)
        periodic(interval: 2_000, during_pause: false, during_retry: false, materialized: true)
        eofed true
        swarm(nodes: [0, 1])
      end

      pattern(:audits, /audit\..*/) do
        consumer EventsConsumer
        periodic true
      end
    end

    consumer_group :segmented do
      parallel_segments(count: 2, partitioner: ->(message) { message.raw_key })
      topic :clicks do
        consumer OrdersConsumer
        adaptive_iterator(active: true, safety_margin: 15)
      end
    end
  end
end
