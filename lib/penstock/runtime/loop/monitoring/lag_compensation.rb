# frozen_string_literal: true

require_relative "../../../errors"

module Penstock
  module Runtime
    # Keeps the lag in statistics correct for partitions that aren't fetched. librdkafka learns a partition's end from fetches;
    # when a partition is paused, or busy with a long job, it stops fetching once its queue is full, and the reported lag no
    # longer grows with the log. So the ends of such partitions are looked up, all in one request, and replace the old ones
    # until a fetch returns newer ones.
    #
    # One per connection. Called on the reporter's thread for each emission of statistics that has a listener; the request runs
    # on a thread of its own, and its answer is used from the next emission on.
    class LagCompensation
      # An end that was looked up; valid until a fetch reports another one.
      End = Struct.new(:reported, :found)
      # A partition's end according to the statistics, and since when.
      Seen = Struct.new(:reported, :since)
      # An answer that takes longer is dropped: a pending call delays a stop.
      ASK_MS = 1_000
      LATEST = -1
      NONE = {}.freeze
      private_constant :End, :Seen, :ASK_MS, :LATEST, :NONE

      # @param driver [Native::Consumer] looks up the ends
      # @param process [#clock, #threads, #reporter]
      # @param settings [Config::Settings::LagCompensation]
      # @param read_committed [Boolean] whether lag is counted to the last stable offset
      def initialize(driver, process, settings, read_committed: true)
        @driver = driver
        @process = process
        @settings = settings
        @end = read_committed ? "ls_offset" : "hi_offset"
        @seen = {}
        @ends = {}
        @asked_at = nil
        @asking = false
      end

      # @param statistics [Hash] as librdkafka emits it; lag and ends are changed
      def call(statistics)
        return if @settings.interval.zero?
        now = @process.clock.monotonic_ms
        partitions = partitions_of(statistics)
        see(partitions, now)
        ask(stalled(partitions, now), now)
        partitions.each { |key, numbers| correct(numbers, @ends[key]) }
      end

      private

      # The partitions of this process, by topic and number.
      def partitions_of(statistics)
        found = {}
        statistics.fetch("topics", NONE).each do |topic, about|
          about.fetch("partitions", NONE).each do |number, numbers|
            key = [topic, Integer(number)]
            found[key] = numbers if key.last >= 0 && numbers[@end].to_i >= 0
          end
        end
        found
      end

      # Forgets partitions that are no longer in the statistics.
      def see(partitions, now)
        seen = {}
        partitions.each do |key, numbers|
          known = @seen[key]
          seen[key] = (known && known.reported == numbers[@end]) ? known : Seen.new(numbers[@end], now)
        end
        @seen = seen
        @ends = @ends.slice(*partitions.keys) unless @ends.empty?
      end

      # A partition whose queue is empty is being fetched: its reported end is correct.
      def stalled(partitions, now)
        partitions.select { |key, numbers|
          numbers["fetchq_cnt"].to_i.positive? && now - @seen[key].since >= @settings.pause_age
        }.keys
      end

      def ask(keys, now)
        return if keys.empty? || @asking || (@asked_at && now - @asked_at < @settings.interval)
        @asking = true
        @asked_at = now
        reported = keys.to_h { |key| [key, @seen[key].reported] }
        @process.threads.start("penstock lag") { find(reported) }
      end

      def find(reported)
        rows = @driver.offsets_for_times(reported.keys.map { |key| [*key, LATEST] }, ASK_MS)
        found = rows.select { |*, number| number.zero? }.to_h { |topic, partition, offset, _| [[topic, partition], offset] }
        @ends = @ends.merge(found.to_h { |key, offset| [key, End.new(reported[key], offset)] })
      rescue HandleClosedError
        nil # the connection is closed: there are no more statistics to correct
      rescue KafkaError => error
        @process.reporter.emit("error.occurred", {type: "lag_compensation.refresher.error", error: error})
      ensure
        @asking = false
      end

      # The lag grows by as much as the end has grown; an unknown lag stays unknown.
      def correct(numbers, known)
        return unless known && known.reported == numbers[@end] && known.found > known.reported
        grown = known.found - known.reported
        numbers[@end] = known.found
        numbers["hi_offset"] = [numbers["hi_offset"], known.found].max
        %w[consumer_lag consumer_lag_stored].each { |lag| numbers[lag] += grown if numbers[lag].to_i >= 0 }
      end
    end
  end
end
