# frozen_string_literal: true

require_relative "call_times"

module Penstock
  module Instrumentation
    module Log
      # Adds up the calls of `consume` per consumer group and topic, for one log line each every {EVERY_MS} ms instead of one per
      # call. Any thread adds; a call costs two lookups and a lock that is held for a few additions.
      class Summaries
        EVERY_MS = 5_000
        # A topic without a call for this long is forgotten.
        FORGET_MS = 60_000

        # The calls of a topic since the last line. `group` is nil unless several groups of this process consume the topic.
        Report = Struct.new(:topic, :group, :messages, :calls, :milliseconds, :times, :lag)

        # One topic of one consumer group.
        class Counts
          # @return [String]
          attr_reader :topic, :group

          # @return [Integer] monotonic ms of the last call
          attr_reader :last_at

          def initialize(group, topic)
            @group = group
            @topic = topic
            @lock = Mutex.new
            @calls = {}
            reset
          end

          # @param call [Hash{Symbol => Object}] payload of `consumer.consumed`
          # @param now [Integer] monotonic ms
          def add(call, now)
            time = call[:time] || 0.0
            @lock.synchronize do
              @since ||= now - time.to_i
              @last_at = now
              @messages += call[:messages_count] || 0
              @times.record(time)
              @calls[call[:partition]] = call
            end
          end

          # @param now [Integer] monotonic ms
          # @return [Boolean] whether a line is due
          def due?(now) = (since = @since) ? now - since >= EVERY_MS : false

          def empty? = @since.nil?

          # @param group [String, nil] for the report
          # @return [Report, nil] what happened since the last one; nil if another thread has taken it
          def take(group)
            @lock.synchronize do
              next if empty?
              report = Report.new(@topic, group, @messages, @times.count, @last_at - @since, @times, lag)
              reset
              report
            end
          end

          private

          # Calls of a partition may end in any order, and records after them be complete already: the figure is that of now.
          def lag
            lags = @calls.each_value.filter_map do |call|
              consumer = call[:caller]
              consumer.respond_to?(:penstock_lag) ? consumer.penstock_lag : call[:lag]
            end
            lags.sum unless lags.empty?
          end

          # A partition that this process no longer consumes must not count.
          def reset
            @since = nil
            @messages = 0
            @times = CallTimes.new
            @calls.clear
          end
        end
        private_constant :Counts

        def initialize
          @lock = Mutex.new
          @groups = {}
        end

        # @param group [String, nil] id of the consumer group
        # @param call [Hash{Symbol => Object}] payload of `consumer.consumed`
        # @param now [Integer] monotonic ms
        def add(group, call, now)
          topic = call[:topic]
          counts = @groups[group]&.[](topic) || counts(group, topic)
          counts.add(call, now)
        end

        # @param now [Integer] monotonic ms
        # @param all [Boolean] also what isn't due yet
        # @return [Array<Report>]
        def take(now, all: false)
          known = @groups.values.flat_map(&:values)
          forget(now, known)
          known.select { |counts| all ? !counts.empty? : counts.due?(now) }.filter_map do |counts|
            counts.take((counts.group if known.count { |other| other.topic == counts.topic } > 1))
          end
        end

        # @return [Boolean] whether nothing happened since the last line of any topic
        def empty? = @groups.each_value.all? { |topics| topics.each_value.all?(&:empty?) }

        private

        # Hashes are replaced as a whole, so lookups need no lock.
        def counts(group, topic)
          @lock.synchronize do
            topics = @groups[group] || {}
            next topics[topic] if topics.key?(topic)

            added = Counts.new(group, topic)
            @groups = @groups.merge(group => topics.merge(topic => added).freeze).freeze
            added
          end
        end

        def forget(now, known)
          return if known.none? { |counts| old?(counts, now) }

          @lock.synchronize do
            @groups = @groups.transform_values { |topics| topics.reject { |_topic, counts| old?(counts, now) }.freeze }.freeze
          end
        end

        def old?(counts, now) = counts.empty? && counts.last_at && now - counts.last_at > FORGET_MS
      end
    end
  end
end
