# frozen_string_literal: true

module Penstock
  module Processing
    # Hands out single records while the topic's breaker is open, to find out whether they succeed again. Part of {Lane}.
    module Probed
      # @return [Failure::Breaker, Runtime::SharedBreaker, nil] the topic's; nil where the route has none
      attr_accessor :breaker

      # @return [Boolean] whether records may be taken and admitted: while the breaker is open, only until there is a fresh one
      def takes? = open? || (broken? && !fresh_record?)

      # @return [Boolean] whether a probe may be handed out; not while a record runs that must be alone
      def probe? = broken? && @division.waiting? && (in_flight.zero? || !suspects&.alone?)

      # @return [Boolean] whether a record is available that has never run; records of a retry topic don't count
      def fresh_record? = @fresh_records && @division.fresh?(self)

      # @param offset [Integer]
      # @return [Boolean] whether the record has not failed before
      def untried?(offset) = @attempts.of(offset).zero? && !@tried&.key?(offset)

      # A record failed, and its attempt doesn't count because the breaker is open.
      # @param offset [Integer]
      def tried(offset) = (@tried ||= {})[offset] = true

      # @return [Unit] of one record, although the topic is held
      def probe
        @out += 1
        @probe = @division.probe(self).tap { |unit| unit.probe = true }
      end

      # @return [Boolean] whether that unit is still out
      def probing? = !@probe.nil?

      # The breaker has closed.
      def release_breaker
        forget_tried
        @holds.release(:breaker)
      end

      private

      def broken? = @holds.only?(:breaker) && !@leaving && owned?
      def forget_tried = @tried = nil

      # @param unit [Unit]
      def came_back(unit) = (@probe = nil if unit.equal?(@probe))
    end
  end
end
