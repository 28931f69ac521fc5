# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Runtime
    # Looks for the partitions that routes with `assign` name: which of them exist, and, where all are wanted, which are added
    # later. On a thread of its own, since asking may take as long as the broker likes; ends when nothing is left to look for,
    # or with {#close}.
    class PartitionSearch
      # Asked in short turns, because a call under way holds up a stop.
      TURN_MS = 1_000
      # Until everything that is named was found.
      MISSING_MS = 1_000
      # Brokers that can't be asked just now.
      UNREACHABLE = %i[timed_out transport all_brokers_down].freeze
      private_constant :TURN_MS, :MISSING_MS, :UNREACHABLE

      # @param group [Routing::SubscriptionGroup]
      # @param driver [DirectConsumer] is asked, and told what was found
      # @param reporter [Reporter]
      # @param interval_ms [Integer] between two looks for partitions that were added
      def initialize(group, driver, reporter, interval_ms:)
        @group = group
        @driver = driver
        @reporter = reporter
        @interval_ms = interval_ms
        @known = Hash.new { |known, topic| known[topic] = [] }
        @told = []
        @closed = false
        @lock = Mutex.new
        @woken = ConditionVariable.new
      end

      # The thread's body.
      def run
        until @closed
          wanted = @group.assigned
          wanted.each { |topic, partitions| look(topic, partitions) unless @closed }
          break if found_all?(wanted)
          rest(missing?(wanted) ? MISSING_MS : @interval_ms)
        end
      rescue HandleClosedError
        nil # so there is nothing to look for
      end

      # Any thread.
      def close
        @lock.synchronize do
          @closed = true
          @woken.signal
        end
      end

      private

      def look(topic, partitions)
        found = partitions_of(topic) or return
        wanted = (partitions == :all) ? found : partitions & found
        new = wanted - @known[topic]
        tell_missing(topic, partitions - found, found.size) unless partitions == :all || found.empty?
        return if new.empty?
        @known[topic].concat(new)
        @driver.announce(new.sort.map { |partition| [topic, partition] })
      end

      # @return [Array<Integer>, nil] none for a topic that doesn't exist, nil when nobody could say
      def partitions_of(topic)
        entry = @driver.metadata(topic, TURN_MS).fetch(:topics)[topic] or return []
        entry[:partitions].keys
      rescue KafkaError => error
        tell_error(error) unless UNREACHABLE.include?(error.code)
      end

      # Each kind once: it is asked again, for nobody else would ever announce the partitions.
      # @return [nil]
      def tell_error(error)
        return if @told.include?(error.code)
        @told << error.code
        @reporter.emit("error.occurred", {type: "connection.client.poll.error", error: error, subscription_group: @group})
        nil
      end

      # A topic that doesn't exist is told of by others.
      def tell_missing(topic, partitions, count)
        (partitions.map { |partition| [topic, partition] } - @told).each do |key|
          @told << key
          @reporter.emit("connection.partition_missing",
            {topic: topic, partition: key.last, partitions: count, subscription_group: @group})
        end
      end

      def missing?(wanted)
        wanted.any? { |topic, partitions| (partitions == :all) ? @known[topic].empty? : (partitions - @known[topic]).any? }
      end

      def found_all?(wanted) = !missing?(wanted) && wanted.each_value.none?(:all)

      def rest(time_ms)
        @lock.synchronize { @woken.wait(@lock, time_ms / 1000.0) unless @closed }
      end
    end
  end
end
