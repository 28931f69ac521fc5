# frozen_string_literal: true

require_relative "registry"
require_relative "updates"

module Penstock
  module Instrumentation
    module Metrics
      # Updates a registry from events ({Updates}). Runs on the publishing threads, such as workers, and never raises because of a
      # payload that code of the application has published.
      class Listener
        LAG = "penstock_consumer_lag_messages"
        QUEUE = "penstock_producer_queue_messages"
        # How the value of a label is found in a payload, if its key isn't the label's name.
        LOOKUPS = {
          group: ->(payload) { payload[:consumer_group_id] || group_of(payload[:caller] || payload[:subscription_group]) },
          error: ->(payload) { payload[:error].class.name },
          job: :job_class
        }.freeze
        private_constant :LOOKUPS, :LAG, :QUEUE

        class << self
          # @param value [Object] a consumer or a subscription group
          # @return [String, nil]
          # @api private
          def group_of(value)
            value.respond_to?(:topic) ? value.topic.consumer_group_id : value.consumer_group.id
          rescue NoMethodError
            nil # published by code of the application
          end
        end

        # @param registry [Registry]
        # @param metrics [Array<Metric>]
        # @param topics [#[]] returns the value of the label of a topic by its name: {TopicNames}
        def initialize(registry, metrics = Catalogue::ALL, topics: :itself.to_proc)
          @registry = registry
          @topics = topics
          @texts = Hash.new(:to_s.to_proc).update(topic: ->(topic) { topics[topic.to_s] }).freeze
          @metrics = metrics.reject { |metric| [LAG, QUEUE].include?(metric.name) }
        end

        # @param monitor [Monitor] of an application
        # @return [void]
        def subscribe_to(monitor)
          subscribe(monitor, @metrics)
          monitor.subscribe("rebalance.partitions_revoked") { |event| revoked(event.payload) }
        end

        # @param monitor [Monitor] of a producer, whose errors are published by the application's monitor, too
        # @return [void]
        def subscribe_to_producer(monitor) = subscribe(monitor, @metrics & Catalogue::PRODUCERS)

        private

        def subscribe(monitor, metrics)
          metrics.flat_map(&:events).uniq.each do |name|
            updates_of(name, metrics).each { |updates| monitor.subscribe(name) { |event| updates.call(event.payload) } }
          end
          monitor.subscribe("statistics.emitted") { |event| statistics(event.payload) }
          monitor.subscribe("producer.closed") { |event| @registry[QUEUE].replace(event[:producer_id], {}) }
        end

        # @return [Array<Updates>]
        def updates_of(name, metrics)
          metrics.select { |metric| metric.events.include?(name) }.group_by(&:labels).map do |labels, found|
            lookups = labels.map { |label| LOOKUPS.fetch(label, label) }
            Updates.new(@registry, found, lookups, labels.map { |label| @texts[label] })
          end
        end

        # Of the connections of consumers, and of producers.
        def statistics(payload)
          about = payload[:statistics]
          id = payload[:producer_id]
          return @registry[QUEUE].replace(id, {[] => about["msg_cnt"] || 0}) if id
          @registry[LAG].replace(payload[:subscription_group_id], lags(payload[:consumer_group_id].to_s, about))
        end

        # librdkafka reports -1 until it knows the lag.
        def lags(group, about)
          (about["topics"] || {}).each_with_object({}) do |(topic, known), found|
            (known["partitions"] || {}).each do |partition, numbers|
              lag = numbers["consumer_lag"]
              next if lag.nil? || lag.negative?
              place = [group, @topics[topic], partition]
              found[place] = found.fetch(place, 0) + lag # topics of a pattern may share a name
            end
          end
        end

        def revoked(payload)
          gone = payload[:tpl].to_h { |topic, partition| [[@topics[topic], partition.to_s], true] }
          @registry[LAG].remove(payload[:subscription_group_id]) { |_group, topic, partition| gone.key?([topic, partition]) }
        end
      end
    end
  end
end
