# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../on_demand"
require_relative "failure"
Penstock.load_constant :BaseConsumer

module Penstock
  module Execution
    module Processes
      # Replaces the application's monitor inside a child: events with a listener in the application are recorded as plain
      # values. Those of a unit are sent with its outcome, all others, such as the producer's, as soon as no unit runs. Everything
      # else about the monitor is unchanged.
      #
      # Used by any thread of the child.
      class Recorder
        # Most events that are recorded before they are sent; the others are only counted.
        MOST = 1_000
        PLAIN = [Symbol, Numeric, TrueClass, FalseClass, NilClass].freeze
        # Keys that the application adds itself, from the originals.
        OWN = %i[caller messages message job jobs jobs_queue].freeze
        # Events that the application emits itself: it knows when a unit was sent and when it ended.
        NOT_HERE = %w[worker.process worker.processed worker.completed consumer.consume consumer.consumed].freeze
        private_constant :PLAIN, :OWN, :NOT_HERE

        # @param monitor [Instrumentation::Monitor] the application's, as it was when the child was forked
        # @yield an event was recorded, and none is waiting to be sent yet
        def initialize(monitor, &waiting)
          @monitor = monitor
          @waiting = waiting
          @lock = Mutex.new
          @events = []
          @dropped = 0
        end

        # @see Instrumentation::Monitor#instrument
        def instrument(name, payload = {})
          return (yield if block_given?) unless subscribed?(name)
          return keep(name, payload) unless block_given?
          started = now_ms
          result = yield
          keep(name, payload.merge(time: now_ms - started))
          result
        end

        def subscribed?(name) = !NOT_HERE.include?(name) && @monitor.subscribed?(name)
        def subscriptions = @monitor.subscriptions
        def subscribe(...) = @monitor.subscribe(...)
        def unsubscribe(listener) = @monitor.unsubscribe(listener)
        def register_event(...) = @monitor.register_event(...)
        def available_events = @monitor.available_events
        def notifications_bus = self

        # @return [Array(Array<Array>, Integer)] the recorded events, each with its name, payload, and the id of the consumer that
        #   is its caller (nil before that exists, false where there is none); and how many more there were
        def take
          @lock.synchronize do
            taken = [@events, @dropped]
            @events = []
            @dropped = 0
            taken
          end
        end

        private

        def keep(name, payload)
          event = [name.to_s, plain(payload), consumer_of(payload)]
          first = @lock.synchronize do
            (@events.size < MOST) ? @events << event : @dropped += 1
            @events.size == 1
          end
          @waiting.call if first
          nil
        end

        def consumer_of(payload)
          return false unless payload.key?(:caller)
          caller = payload[:caller] or return
          caller.is_a?(BaseConsumer) && caller.id
        end

        def plain(payload)
          payload.except(*OWN).transform_values { |value| simple(value) }
        end

        def simple(value)
          case value
          when *PLAIN then value
          when String then String.new(value) # one that user code has extended can't be dumped
          when Exception then {failure: Failure.dump(value)}
          when Array then value.map { |item| simple(item) }
          when Hash then value.to_h { |key, item| [simple(key), simple(item)] }
          else value.inspect[0, 200]
          end
        end

        def now_ms = Clock.milliseconds
      end
    end
  end
end
