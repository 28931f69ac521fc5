# frozen_string_literal: true

module Penstock
  module Assignment
    # Decides whether a subscription group should have one connection more or less. Pure: it is given the state of each
    # connection and returns what to do; the caller does it and calls {#changed}.
    #
    # A connection without partitions is closed, but never below the minimum; where one has several partitions and the maximum
    # isn't reached, one is opened. At most one change per `scale_delay`, and none while partitions move: a cooperative group
    # becomes stable only after several rebalances, between which nothing seems to happen. After a connection has turned out
    # useless, none is opened for a while: with the same number of partitions, the group would only open and close it again and
    # again.
    class Scaling
      # One connection: how many partitions it has, and whether its membership is stable.
      Standing = Struct.new(:number, :partitions, :settled)
      # In `scale_delay`s.
      USELESS_FOR = 10
      # ms without a change after which a group counts as stable; less where `scale_delay` is less.
      REST_MS = 10_000
      private_constant :USELESS_FOR, :REST_MS

      # @return [Integer] monotonic ms of the last change of its own
      attr_reader :changed_at

      # @param multiplexing [Routing::Multiplexing]
      # @param now [Integer] monotonic ms
      def initialize(multiplexing, now)
        @multiplexing = multiplexing
        @changed_at = @disturbed_at = now
        @useless = nil
        @seen = nil
        @seen_since = now
      end

      # @param standings [Array<Standing>] of all connections
      # @return [Array(Symbol, Integer), nil] :up or :down, and the connection's number
      def call(standings, now)
        note(standings, now)
        return unless at_rest?(standings, now) && now - @disturbed_at >= @multiplexing.scale_delay
        down(standings, now) || up(standings, now)
      end

      # The change was made.
      def changed(now) = @changed_at = @disturbed_at = now

      # Another subscription group of the same consumer group changed: they rebalance together.
      def disturbed(now) = @disturbed_at = now

      private

      # Remembers since when nothing has changed.
      def note(standings, now)
        return if standings == @seen
        @seen = standings
        @seen_since = now
      end

      def at_rest?(standings, now)
        standings.all?(&:settled) && now - @seen_since >= [REST_MS, @multiplexing.scale_delay].min
      end

      def down(standings, now)
        return if standings.size <= @multiplexing.min
        idle = standings.select { |standing| standing.partitions.zero? }.max_by(&:number) or return
        @useless = [total(standings), standings.size, now + USELESS_FOR * @multiplexing.scale_delay]
        [:down, idle.number]
      end

      def up(standings, now)
        return if standings.size >= @multiplexing.max || standings.none? { |standing| standing.partitions > 1 }
        return if useless?(standings, now)
        [:up, ((0..standings.size).to_a - standings.map(&:number)).first]
      end

      def useless?(standings, now)
        return false unless @useless
        partitions, connections, until_ms = @useless
        now < until_ms && total(standings) == partitions && standings.size + 1 >= connections
      end

      def total(standings) = standings.sum(&:partitions)
    end
  end
end
