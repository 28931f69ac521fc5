# frozen_string_literal: true

require_relative "../../../consumer/flow"
require_relative "../../../errors"
require_relative "../../error_codes"
require_relative "hooks"

module Penstock
  module Runtime
    # Gives effects access to the few things outside of their lane. Runs on the poll loop's thread.
    class EffectContext
      # librdkafka's logical offsets.
      LOGICAL = {earliest: -2, latest: -1}.freeze
      # Events that have the lane's consumer as their `caller`.
      OF_CONSUMER = %w[consumer.consuming.pause consumer.consuming.seek filtering.throttled filtering.seek].freeze
      private_constant :LOGICAL, :OF_CONSUMER

      # @param connection [ConnectionState]
      # @param committer [Committer]
      # @param offset_lookup [OffsetLookup]
      # @param stop [#call] asks for a stop of the process because of an error
      def initialize(connection, committer, offset_lookup, stop)
        @connection = connection
        @committer = committer
        @offset_lookup = offset_lookup
        @stop = stop
      end

      # @param name [String]
      # @param payload [Hash]
      def emit(name, payload)
        payload = with_caller(payload) if OF_CONSUMER.include?(name) && @connection.subscribed?(name)
        @connection.emit(name, with_group(name, payload))
      end

      # @param number [Integer] librdkafka's error number
      # @param message [String]
      def report(lane, number, message)
        error = KafkaError.build(number: number, name: ErrorCodes.of(number), message: message)
        emit("error.occurred", {type: "connection.client.poll.error", error: error, topic: lane.topic_name,
                                partition: lane.partition})
      end

      # @param error [Exception]
      def stop(error) = @stop.call(error)

      # An offset may have moved.
      def schedule_commit = @committer.schedule_commit

      # @return [DeadLetters]
      attr_writer :dead_letters

      # Sends a letter for a record that failed permanently.
      # @param request [Processing::Failure::LetterRequest]
      def dead_letter(lane, request) = @dead_letters.add(lane, request)

      # Queues user code that decides about the lane's taken records.
      # @param lane [Processing::Lane]
      def prepare(lane) = @connection.pool.grow(@connection.queue.push(lane.assignment.prepare_slot, lane.prepare_unit))

      # @return [Messages]
      def no_messages(lane) = Hooks.no_messages(lane)

      # @param lane [Processing::Lane]
      # @param target [Integer, :earliest, :latest]
      # @param cause [Symbol] :user, :awaited (the user's, too) and :filter begin a new incarnation; the others move the source to
      #   the ledger's position
      def seek(lane, target, cause)
        offset = place(lane, target).then { |place| LOGICAL.fetch(place, place) }
        return realign(lane, offset) unless %i[user awaited filter].include?(cause)
        confirming(lane) { (cause == :filter) ? go_on_elsewhere(lane, offset) : seek_for_user(lane, target, offset) }
      end

      # The end of the log is taken from the last fetch: librdkafka would ask the broker after the pending fetch has returned, and
      # skip what was written meanwhile.
      # @param lane [Processing::Lane]
      # @param target [Integer, :earliest, :latest]
      # @return [Integer, :earliest, :latest] :latest only if the end isn't known
      def place(lane, target)
        return target unless target == :latest
        _low, high = @connection.driver.cached_watermarks(lane.topic_name, lane.partition)
        (high && high >= 0) ? high : target
      end

      # Calls the block, which may confirm where the lane begins.
      # @param lane [Processing::Lane]
      def confirming(lane)
        return yield if lane.takes.start.confirmed?
        yield.tap { @committer.adopted(lane) }
      end

      # The lane's committed offset may be wrong.
      # @param lane [Processing::Lane]
      # @param place [Integer] where the source began
      def read_offset_again(lane, place) = @offset_lookup.confirm(lane, place)

      private

      def seek_for_user(lane, target, offset)
        emit("consumer.consuming.seek", {topic: lane.topic_name, partition: lane.partition, manual_seek: true,
          message: Consumer::Flow::Position.new(lane.topic_name, lane.partition, target), reset_offset: true})
        in_place?(lane, offset) ? go_on(lane, offset) : start_over(lane, offset)
      end

      # The source is at that offset already: nothing prefetched is thrown away.
      def in_place?(lane, offset)
        !lane.by_key? && lane.takes.start.confirmed? && lane.intake.empty? &&
          offset == (lane.division.first_offset || lane.takes.next_offset)
      end

      def go_on(lane, offset)
        lane.recording&.continued(offset)
        lane.complete_through(offset)
        @committer.request_commit([lane])
      end

      def start_over(lane, offset)
        lane.reincarnate(offset.negative? ? nil : offset)
        realign(lane, offset)
        offset.negative? ? schedule_commit : @committer.request_commit([lane])
      end

      def go_on_elsewhere(lane, offset)
        lane.continue_at(offset, @connection.now)
        realign(lane, offset)
        @committer.request_commit([lane])
      end

      def realign(lane, offset)
        @connection.driver.seek(lane.assignment.source, offset)
        lane.takes.sought(offset)
        lane.takes.align # a source that is moved beyond deleted records still follows the ledger
        lane.takes.ready = true
      end

      def with_caller(payload)
        consumer = @connection.lane(payload.values_at(:topic, :partition))&.assignment&.consumer
        consumer ? {**payload, caller: consumer} : payload
      end

      def with_group(name, payload)
        name.start_with?("consumer.consuming.pause") ? payload.merge(subscription_group: @connection.group) : payload
      end
    end
  end
end
