# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Runtime
    # Looks for the partitions of routes with `assign`: which of them exist, and, where all are wanted, which are added later.
    # Runs on a thread of its own, since the broker may take any time to answer; ends when every partition is found and none can
    # be added, or with {#close}.
    class PartitionSearch
      # Requests are short, because a pending call delays a stop.
      TURN_MS = 1_000
      # Interval until every partition named by a route was found.
      MISSING_MS = 1_000
      # Errors that mean that the brokers can't be reached just now.
      UNREACHABLE = %i[timed_out transport all_brokers_down].freeze
      private_constant :TURN_MS, :MISSING_MS, :UNREACHABLE

      # @param group [Routing::SubscriptionGroup]
      # @param driver [DirectConsumer] is asked for metadata, and announces what was found
      # @param reporter [Reporter]
      # @param interval_ms [Integer] between two searches for added partitions
      def initialize(group, driver, reporter, interval_ms:)
        @group = group
        @driver = driver
        @reporter = reporter
        @interval_ms = interval_ms
        @known = Hash.new { |known, topic| known[topic] = [] }
        @reported = []
        @closed = false
        @lock = Mutex.new
        @woken = ConditionVariable.new
      end

      # The thread's body.
      def run
        until @closed
          wanted = @group.assigned
          wanted.each { |topic, partitions| search(topic, partitions) unless @closed }
          break if found_all?(wanted)
          wait(missing?(wanted) ? MISSING_MS : @interval_ms)
        end
      rescue HandleClosedError
        nil # the connection is closed: nothing is left to do
      end

      # Any thread.
      def close
        @lock.synchronize do
          @closed = true
          @woken.signal
        end
      end

      private

      def search(topic, partitions)
        found = partitions_of(topic) or return
        wanted = (partitions == :all) ? found : partitions & found
        new = wanted - @known[topic]
        report_missing(topic, partitions - found, found.size) unless partitions == :all || found.empty?
        return if new.empty?
        @known[topic].concat(new)
        @driver.announce(new.sort.map { |partition| [topic, partition] })
      end

      # @return [Array<Integer>, nil] empty for a topic that doesn't exist, nil when no broker answered
      def partitions_of(topic)
        entry = @driver.metadata(topic, TURN_MS).fetch(:topics)[topic] or return []
        entry[:partitions].keys
      rescue KafkaError => error
        report_error(error) unless UNREACHABLE.include?(error.code)
      end

      # Each kind of error is emitted once; the search continues, because nothing else would announce the partitions.
      # @return [nil]
      def report_error(error)
        return if @reported.include?(error.code)
        @reported << error.code
        @reporter.emit("error.occurred", {type: "connection.client.poll.error", error: error, **@group.ids})
        nil
      end

      # A missing topic is reported by {MissingTopics}, not here.
      def report_missing(topic, partitions, count)
        (partitions.map { |partition| [topic, partition] } - @reported).each do |key|
          @reported << key
          @reporter.emit("connection.partition_missing",
            {topic: topic, partition: key.last, partitions: count, subscription_group: @group})
        end
      end

      def missing?(wanted)
        wanted.any? { |topic, partitions| (partitions == :all) ? @known[topic].empty? : (partitions - @known[topic]).any? }
      end

      def found_all?(wanted) = !missing?(wanted) && wanted.each_value.none?(:all)

      def wait(time_ms)
        @lock.synchronize { @woken.wait(@lock, time_ms / 1000.0) unless @closed }
      end
    end
  end
end
