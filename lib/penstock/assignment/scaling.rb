# frozen_string_literal: true

module Penstock
  module Assignment
    # Decides whether a subscription group should have one connection more or less. Pure: it is given the state of each
    # connection and returns what to do; the caller does it and calls {#changed}.
    #
    # A connection without partitions is closed, but never below the minimum; where one has several partitions and the maximum
    # isn't reached, one is opened. At most one change per `scale_delay`, and none while partitions move: a cooperative group
    # becomes stable only after several rebalances, with pauses between them. After a connection was closed because it got no
    # partitions, none is opened for a while: with the same number of partitions, the group would only open and close it again and
    # again.
    class Scaling
      # One connection: how many partitions it has, and whether its membership is stable.
      Connection = Struct.new(:number, :partitions, :settled)
      # How long no connection is opened after one got no partitions, in multiples of `scale_delay`.
      USELESS_FOR = 10
      # Time without a change after which a group counts as stable, in ms; shorter where `scale_delay` is shorter.
      STABLE_MS = 10_000
      private_constant :USELESS_FOR, :STABLE_MS

      # @return [Integer] monotonic ms of this subscription group's last change
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

      # @param connections [Array<Connection>] of all connections
      # @return [Array(Symbol, Integer), nil] :up or :down, and the connection's number
      def call(connections, now)
        note(connections, now)
        return unless stable?(connections, now) && now - @disturbed_at >= @multiplexing.scale_delay
        down(connections, now) || up(connections, now)
      end

      # The change was made.
      def changed(now) = @changed_at = @disturbed_at = now

      # Another subscription group of the same consumer group changed: they rebalance together.
      def disturbed(now) = @disturbed_at = now

      private

      # Remembers since when nothing has changed.
      def note(connections, now)
        return if connections == @seen
        @seen = connections
        @seen_since = now
      end

      def stable?(connections, now)
        connections.all?(&:settled) && now - @seen_since >= [STABLE_MS, @multiplexing.scale_delay].min
      end

      def down(connections, now)
        return if connections.size <= @multiplexing.min
        idle = connections.select { |connection| connection.partitions.zero? }.max_by(&:number) or return
        @useless = [total(connections), connections.size, now + USELESS_FOR * @multiplexing.scale_delay]
        [:down, idle.number]
      end

      def up(connections, now)
        return if connections.size >= @multiplexing.max || connections.none? { |connection| connection.partitions > 1 }
        return if useless?(connections, now)
        [:up, ((0..connections.size).to_a - connections.map(&:number)).first]
      end

      def useless?(connections, now)
        return false unless @useless
        partitions, count, until_ms = @useless
        now < until_ms && total(connections) == partitions && connections.size + 1 >= count
      end

      def total(connections) = connections.sum(&:partitions)
    end
  end
end
