# frozen_string_literal: true

require_relative "../assignment/scaling"

module Penstock
  module Runtime
    # Decides how many connections a subscription group with `multiplexing` has: how many at first, and, where the number is
    # dynamic, a thread watches the load of each and requests one more or one less. It starts and ends no loop itself: it
    # requests that from the owner of the loops.
    #
    # Created with the application's loops; {#watch} starts the thread, {#close} ends it.
    class Multiplexer
      # A loop to start or to end.
      Change = Struct.new(:direction, :poll_loop)
      # The loops of one subscription group. A loop that was requested to end is counted until it has ended, so that no number is
      # used twice.
      Family = Struct.new(:group, :scaling, :loops, :ending)
      LOOK_MS = (50..1_000)
      private_constant :Family, :LOOK_MS

      # @param clock [Clock]
      # @param reporter [Reporter]
      # @param make [#call] makes the loop of a subscription group
      def initialize(clock:, reporter:, make:)
        @clock = clock
        @reporter = reporter
        @make = make
        @families = []
        @closed = false
        @lock = Mutex.new
        @woken = ConditionVariable.new
      end

      # @param group [Routing::SubscriptionGroup]
      # @return [Array<PollLoop>] the loops to start with
      def loops(group)
        multiplexing = group.multiplexing or return [@make.call(group)]
        loops = Array.new(multiplexing.boot) { |number| @make.call(group.on_connection(number)) }
        @families << Family.new(group, nil, loops.dup, []) if multiplexing.dynamic?
        loops
      end

      # @return [Boolean] whether the number of connections may change
      def dynamic? = @families.any?

      # @param threads [Threads]
      # @yieldparam change [Change] the loop to start or to end; on the watching thread
      def watch(threads, &change)
        return unless dynamic?
        @families.each { |family| family.scaling = Assignment::Scaling.new(family.group.multiplexing, @clock.monotonic_ms) }
        threads.start("penstock multiplexing") { check(&change) until wait }
      end

      # Any thread.
      def close
        @lock.synchronize do
          @closed = true
          @woken.signal
        end
      end

      private

      # @return [Boolean] whether it was closed
      def wait
        @lock.synchronize do
          @woken.wait(@lock, look_ms / 1000.0) unless @closed
          @closed
        end
      end

      def look_ms = (@families.map { |family| family.group.multiplexing.scale_delay }.min / 4).clamp(LOOK_MS.begin, LOOK_MS.end)

      # At most one change per consumer group: all its members rebalance. The group that has waited longest comes first.
      def check(&change)
        now = @clock.monotonic_ms
        @families.sort_by { |family| family.scaling.changed_at }.each do |family|
          family.ending.reject!(&:finished?)
          direction, number = family.scaling.call(connections(family), now)
          scale(family, direction, number, now, &change) if direction && family.ending.empty?
        end
      end

      def connections(family)
        family.loops.map do |poll_loop|
          Assignment::Scaling::Connection.new(poll_loop.group.connection, *poll_loop.assignment_state)
        end
      end

      def scale(family, direction, number, now)
        poll_loop = (direction == :up) ? add(family, number) : take(family, number)
        @families.each { |other| other.scaling.disturbed(now) if other.group.consumer_group_id == family.group.consumer_group_id }
        family.scaling.changed(now)
        @reporter.emit("multiplexing.#{direction}", {subscription_group: poll_loop.group,
          consumer_group_id: family.group.consumer_group_id, connections: family.loops.size})
        yield Change.new(direction, poll_loop)
      end

      def add(family, number) = @make.call(family.group.on_connection(number)).tap { |poll_loop| family.loops << poll_loop }

      def take(family, number)
        poll_loop = family.loops.find { |candidate| candidate.group.connection == number }
        family.loops.delete(poll_loop)
        family.ending << poll_loop
        poll_loop
      end
    end
  end
end
