# frozen_string_literal: true

require "penstock/errors"
require "penstock/messages/memory_batch"
require "penstock/native"

module Penstock
  module TestSupport
    # A connection that reads, over logs in memory: their records are those offsets that exist, with gaps as compaction and
    # transactions leave them. Behaves as the client library does: a fetch begins at the next record, and the end is reported
    # once for each position.
    class FakeReading
      # A partition: the offsets of its records, its first offset, its end, and times of records.
      # `open_to`: where the log ends, if a transaction is open.
      Log = Struct.new(:offsets, :low, :high, :times, :committed, :error, :open_to)
      # An assigned partition.
      Lane = Struct.new(:id, :key, :position, :reported, :closed) do
        def close = self.closed = true
      end

      # @return [Integer] ms
      attr_accessor :timeout_ms
      # @return [Integer] how many records were taken
      attr_reader :taken
      # @return [Array<Array>] rows of commits
      attr_reader :commits
      # @return [Array<(String, Integer)>] partitions that are assigned
      attr_reader :assigned
      # @return [KafkaError, nil]
      attr_accessor :last_error
      # Called with each wait; may change the logs.
      attr_accessor :waiting

      # @param logs [Hash{(String, Integer) => Log, Array<Integer>}]
      # @param slice [Integer] most records of one batch
      # @param eof_apart [Boolean] whether the end comes in a batch of its own
      def initialize(logs, slice: 3, eof_apart: true)
        @logs = logs.transform_values { |log| log.is_a?(Log) ? log : Log.new(log, log.first || 0, (log.last || -1) + 1) }
        @slice = slice
        @eof_apart = eof_apart
        @timeout_ms = 60_000
        @lanes = {}
        @ids = 0
        @taken = 0
        @commits = []
        @assigned = []
      end

      # @return [Log]
      def log(topic, partition) = @logs.fetch([topic, partition])

      def partitions(topics, _within_ms = nil)
        topics.to_h do |topic|
          found = @logs.keys.select { |one, _partition| one == topic }.map(&:last)
          raise Native.error_for(Native.error_number(:unknown_topic_or_part), topic) if found.empty?

          [topic, found.sort]
        end
      end

      def beginnings(pairs) = pairs.to_h { |pair| [pair, @logs.fetch(pair).low] }
      def ends(pairs) = pairs.to_h { |pair| [pair, @logs.fetch(pair).high] }

      def log_ends(pairs) = pairs.to_h { |pair| [pair, @logs.fetch(pair).then { |log| log.open_to || log.high }] }

      def at(times)
        times.to_h { |pair, time| [pair, @logs.fetch(pair).times.to_a.find { |_offset, one| one >= time }&.first] }
      end

      def committed(pairs) = pairs.to_h { |pair| [pair, @logs.fetch(pair).committed] }

      def commit(rows, _within_ms = nil)
        @commits << rows
        rows.each { |topic, partition, offset| log(topic, partition).committed = offset }
      end

      def assign(parts)
        parts.to_h do |part|
          raise "#{part.key} is assigned already" if @assigned.include?(part.key)

          @assigned << part.key
          lane = Lane.new(@ids += 1, part.key, part.from)
          [part, @lanes[lane.id] = lane]
        end
      end

      def unassign(lanes)
        lanes.each do |part, lane|
          @assigned.delete(part.key) or raise "#{part.key} isn't assigned"
          @lanes.delete(lane.id)
          lane.close
        end
      end

      def wait(_limit_ms)
        @waiting&.call
        @lanes.values.select { |lane| more?(lane) }.map(&:id)
      end

      def take(lane, _max_records, _max_bytes)
        log = @logs.fetch(lane.key)
        return Messages::MemoryBatch.new(*lane.key, [], from: lane.position, error: log.error) if log.error

        lane.position = log.low if lane.position < log.low || lane.position > log.high
        rows = log.offsets.select { |offset| offset >= lane.position }
        batch(lane, log, rows.first(@slice), rows.size > @slice)
      end

      def check(batch)
        raise Native.error_for(*batch.error) if batch.error
      end

      def wakeup = nil

      # The next connection has no partitions.
      def close
        @lanes.clear
        @assigned.clear
      end

      private

      def more?(lane)
        log = @logs.fetch(lane.key)
        return true if log.error || lane.position > log.high || lane.reported != log.high

        log.offsets.any? { |offset| offset >= lane.position }
      end

      def batch(lane, log, offsets, more)
        @taken += offsets.size
        rows = offsets.map { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: offset.to_s, leader_epoch: 3) }
        from = lane.position
        lane.position = more ? offsets.last + 1 : log.high
        at_end = !more && (offsets.empty? || !@eof_apart)
        eof = lane.reported = log.high if at_end
        Messages::MemoryBatch.new(*lane.key, rows, from: from, eof: eof, full: more)
      end
    end
  end
end
