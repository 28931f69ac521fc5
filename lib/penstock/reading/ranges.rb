# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"

module Penstock
  module Reading
    # Reads ranges of offsets of many partitions over one connection, until each is finished. A partition that is finished is
    # fetched no longer. Belongs to one thread; needs no end, as it holds nothing but the connection's partitions.
    class Ranges
      # Most records and bytes of one batch: what is held in memory in addition to what the client has fetched.
      RECORDS = 1_000
      BYTES = 4 * 1024 * 1024
      # Longest wait at once, so that a partition without progress is noticed.
      TURN_MS = 500
      # Time limit of the look for topics that were deleted.
      LOOK_MS = 1_000
      private_constant :RECORDS, :BYTES, :TURN_MS, :LOOK_MS

      # @param connection [Connection]
      # @param parts [Array<Part>]
      def initialize(connection, parts)
        @connection = connection
        @lanes = connection.assign(parts.reject(&:finished?))
        @parts = @lanes.to_h { |part, lane| [lane.id, part] }
        @ready = []
        @waited = Deadline.in(connection.timeout_ms)
      end

      # @return [Boolean] whether nothing is left to read
      def finished? = @lanes.empty?

      # Reads to the end of all parts.
      #
      # @yieldparam part [Part]
      # @yieldparam batch [Native::Batch]
      # @yieldparam first [Integer] index of the first record in the batch that belongs to the part
      # @yieldparam count [Integer] how many of the following ones do
      # @return [void]
      # @raise [WaitTimeoutError] neither a record nor an end of a partition arrived within the connection's time limit
      # @raise [KafkaError] a partition can't be read
      def each(&block)
        turn(TURN_MS, &block) || expect_progress until finished?
      end

      # One batch of one partition, if there is one within the time. Partitions take turns.
      #
      # @param wait_ms [Integer]
      # @yield as {#each} does
      # @return [Boolean] whether anything arrived: records, or an end
      def turn(wait_ms, &block)
        @connection.wait(@ready.empty? ? wait_ms : 0).each { |id| @ready << id unless @ready.include?(id) }
        part = @parts[id = @ready.shift] or return false
        batch = @connection.take(@lanes.fetch(part), RECORDS, BYTES) or return false
        @ready << id if batch.full?
        receive(part, batch, &block)
        @waited = Deadline.in(@connection.timeout_ms) # the time that the block took is the caller's
        true
      end

      # @param topic [String]
      # @param partition [Integer]
      # @return [Boolean] whether the partition was still being read
      def stop(topic, partition)
        part = @lanes.each_key.find { |one| one.topic == topic && one.partition == partition } or return false
        part.finish
        leave(part)
        true
      end

      # Called when nothing has arrived. Partitions without an end may be idle for any time, unless their topic was deleted: the
      # client doesn't report that.
      #
      # @return [void]
      # @raise [WaitTimeoutError] nothing arrived within the connection's time limit
      # @raise [KafkaError] `:unknown_topic_or_part`
      def expect_progress
        return unless @waited.expired?

        @waited = Deadline.in(@connection.timeout_ms)
        reason = @connection.last_error
        missing = missing_topics
        raise missing if missing
        raise silent(reason) if @lanes.each_key.all?(&:to)
      end

      private

      def receive(part, batch)
        first, count = part.accept(batch)
        shortened(part, batch.eof) if part.short?(batch.eof)
        leave(part) if part.finished?
        yield part, batch, first, count if count
        @connection.check(batch)
      end

      # The log ends before the part does. Either it has become shorter, or this broker isn't up to date: the leader knows.
      def shortened(part, eof)
        part.finish if @connection.ends([part.key]).fetch(part.key) <= eof
      end

      def leave(part)
        lane = @lanes.delete(part) or return
        @parts.delete(lane.id)
        @ready.delete(lane.id)
        @connection.unassign(part => lane)
      end

      # @return [KafkaError, nil]
      def missing_topics
        @connection.partitions(@lanes.keys.map(&:topic).uniq, LOOK_MS)
        nil
      rescue KafkaError => error
        error if error.code == :unknown_topic_or_part
      end

      def silent(reason)
        names = @lanes.keys.map { |part| part.key.join("/") }
        WaitTimeoutError.new("nothing arrived from #{names.first(5).join(", ")}#{", …" if names.size > 5} for " \
          "#{@connection.timeout_ms} ms#{": #{reason.broker_message}" if reason}")
      end
    end
  end
end
