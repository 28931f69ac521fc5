# frozen_string_literal: true

module Penstock
  module Processing
    # What a lane does while its topic's breaker is open: it hands out nothing but single records, to find out whether they
    # succeed again. Part of {Lane}.
    module Probed
      # @return [Failure::Breaker, Runtime::SharedBreaker, nil] its topic's; nil where the route has none
      attr_accessor :breaker

      # @return [Boolean] whether records may be taken and let in: while the breaker is open, as long as there is no fresh one
      def takes? = open? || (broken? && !fresh_record?)

      # @return [Boolean] whether a single record could be tried although the topic waits; not beside one that is to run alone
      def probe? = broken? && @division.waiting? && (in_flight.zero? || !suspects&.alone?)

      # @return [Boolean] whether a record is available that has never run; no record of a retry topic is one
      def fresh_record? = @fresh_records && @division.fresh?(self)

      # @param offset [Integer]
      # @return [Boolean] whether the record has not failed before
      def untried?(offset) = @attempts.of(offset).zero? && !@tried&.key?(offset)

      # A record failed, and its attempt doesn't count because the breaker is open.
      # @param offset [Integer]
      def tried(offset) = (@tried ||= {})[offset] = true

      # @return [Unit] of one record, although the topic waits
      def probe
        @out += 1
        @probe = @division.probe(self).tap { |unit| unit.probe = true }
      end

      # @return [Boolean] whether that unit hasn't come back
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
