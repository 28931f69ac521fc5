# frozen_string_literal: true

module Penstock
  module Processing
    # Finds the single records with which a lane probes while the breaker of its topic is open, to find out whether they succeed
    # again. One per lane, on its poll loop.
    class Probing
      # @param lane [Lane]
      def initialize(lane)
        @lane = lane
        @holds = lane.holds
        @division = lane.division
        @fresh_records = !lane.topic.features[:retry_topics]&.delayed?
        @tried = @unit = nil
      end

      # @return [Boolean] whether records may be taken and admitted: while the breaker is open, only until one can be probed
      def admits? = @lane.open? || needs_records?

      # @return [Boolean] whether records may be taken and admitted although the breaker is open: until there is a fresh one
      def needs_records? = held? && !fresh_record?

      # @return [Boolean] whether a probe may be handed out: not while a record runs that must be alone, nor in order while
      #   anything runs, for instance a `tick` that waits for the unavailable system: no other lane would be probed meanwhile
      def possible?
        held? && @division.waiting? && (@lane.in_flight.zero? || (@lane.by_key? && !@lane.suspects&.one_at_a_time?))
      end

      # @return [Boolean] whether a record is available that has never run; records of a retry topic don't count
      def fresh_record? = @fresh_records && @division.fresh?(@lane)

      # @param offset [Integer]
      # @return [Boolean] whether the record has not failed before
      def untried?(offset) = @lane.attempts.of(offset).zero? && !@tried&.key?(offset)

      # A record failed, and its attempt doesn't count because the breaker is open.
      # @param offset [Integer]
      def note_failure(offset) = (@tried ||= {})[offset] = true

      # @return [Unit] of one record, although the topic is held
      def cut
        @unit = @division.probe(@lane).tap { |unit| unit.probe = true }
      end

      # @param unit [Unit] that came back, run or not
      def returned(unit) = (@unit = nil if unit.equal?(@unit))

      # @return [Boolean] whether the probe is still out
      def out? = !@unit.nil?

      # The breaker has closed.
      def release
        clear
        @holds.release(:breaker)
      end

      # Forgets which records have failed.
      def clear = @tried = nil

      private

      def held? = @holds.only?(:breaker) && !@lane.leaving? && @lane.owned?
    end
  end
end
