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
      # A partition's end according to the statistics, since when it is reported, and the end that was looked up meanwhile.
      Seen = Struct.new(:reported, :since, :found)
      # An answer that takes longer is dropped: a pending call delays a stop.
      ASK_MS = 1_000
      LATEST = -1
      NONE = {}.freeze
      private_constant :Seen, :ASK_MS, :LATEST, :NONE

      # @param driver [Native::Consumer] looks up the ends
      # @param process [#clock, #threads, #reporter]
      # @param settings [Config::Settings::LagCompensation]
      # @param read_committed [Boolean] whether lag is counted to the last stable offset
      def initialize(driver, process, settings, read_committed: true)
        @driver = driver
        @process = process
        @settings = settings
        @end = read_committed ? "ls_offset" : "hi_offset"
        @seen = NONE
        @asked_at = nil
        @asking = false
      end

      # @param statistics [Hash] as librdkafka emits it; lag and ends are changed
      def call(statistics)
        return if @settings.interval.zero?
        now = @process.clock.monotonic_ms
        stalled = []
        @seen = statistics.fetch("topics", NONE).to_h do |topic, about|
          [topic, see(topic, about.fetch("partitions", NONE), now, stalled)]
        end
        ask(stalled, now)
      end

      private

      # Corrects the partitions of a topic, and collects those that have to be looked up. Partitions that aren't in these
      # statistics are forgotten.
      # @return [Hash{String => Seen}] by the partition's number
      def see(topic, partitions, now, stalled)
        known = @seen.fetch(topic, NONE)
        partitions.each_with_object({}) do |(number, numbers), seen|
          reported = numbers[@end]
          next if reported.nil? || reported.negative? || number.start_with?("-")

          one = known[number]
          one = Seen.new(reported, now) unless one && one.reported == reported
          seen[number] = one
          correct(numbers, one)
          stalled << [topic, Integer(number), one] if stalled?(numbers, one, now)
        end
      end

      # A partition whose queue is empty is being fetched: its reported end is correct.
      def stalled?(numbers, one, now) = now - one.since >= @settings.pause_age && numbers["fetchq_cnt"].to_i.positive?

      # @param stalled [Array<(String, Integer, Seen)>]
      def ask(stalled, now)
        return if stalled.empty? || @asking || (@asked_at && now - @asked_at < @settings.interval)
        @asking = true
        @asked_at = now
        @process.threads.start("penstock lag") { find(stalled) }
      end

      # Each answer is one assignment, which the reporter's thread sees or doesn't.
      def find(stalled)
        seen = stalled.to_h { |topic, partition, one| [[topic, partition], one] }
        @driver.offsets_for_times(seen.keys.map { |place| [*place, LATEST] }, ASK_MS).each do |topic, partition, offset, number|
          seen.fetch([topic, partition]).found = offset if number.zero?
        end
      rescue HandleClosedError
        nil # the connection is closed: there are no more statistics to correct
      rescue KafkaError => error
        @process.reporter.emit("error.occurred", {type: "lag_compensation.refresher.error", error: error})
      ensure
        @asking = false
      end

      # The lag grows by as much as the end has grown; an unknown lag stays unknown.
      def correct(numbers, one)
        found = one.found # another thread may write it meanwhile
        return unless found && found > one.reported
        grown = found - one.reported
        numbers[@end] = found
        numbers["hi_offset"] = [numbers["hi_offset"], found].max
        %w[consumer_lag consumer_lag_stored].each { |lag| numbers[lag] += grown if numbers[lag].to_i >= 0 }
      end
    end
  end
end
