# frozen_string_literal: true

require_relative "../clock"
require_relative "../instrumentation/catalogue"
require_relative "../nearest"
require_relative "violation"

module Penstock
  module Lint
    # Wraps a listener and checks it: its methods are named after existing events, take one event, don't change its
    # payload and don't delay the others. Subscribe the wrapper instead of the listener.
    #
    # Problems of its methods are raised at once. A problem during an event is raised in the listener's place: monitors
    # rescue it and report it as `error.occurred`.
    class Listener
      # One thread calls all listeners of all events.
      LONGEST_MS = 1_000

      # @param listener [Object] with methods `on_*`
      # @param events [Array<String>] names of events, also your own
      # @raise [Violation] with all problems of its methods
      def initialize(listener, events: Instrumentation::Catalogue.standard.names)
        @listener = listener
        @methods = events.to_h { |name| [:"on_#{name.tr(".", "_")}", name] }
        own = listener.public_methods.grep(/\Aon_/)
        found = own.filter_map { |name| problem(name) }
        found << "has no method for any event: define on_consumer_consumed, for example" if own.empty?
        raise Violation, "#{listener.class} #{found.join("; ")}" unless found.empty?
        own.each { |name| watch(name) }
      end

      private

      def problem(name)
        unless @methods.key?(name)
          nearest = Nearest.to(name.to_s, @methods.keys.map(&:to_s))
          return "has #{name}, but there is no such event#{": did you mean #{nearest}?" if nearest}"
        end
        arity = @listener.method(name).arity
        return if arity == 1 || [-1, -2].include?(arity)
        "takes #{arity} arguments in #{name}: it gets one, the event"
      end

      def watch(name)
        define_singleton_method(name) do |event|
          before = event.payload.dup
          started = now
          @listener.public_send(name, event)
          took = now - started
          wrong(name, "changed the payload", "other listeners get it too: work on a copy") unless same?(before, event.payload)
          wrong(name, "took #{took.round} ms", "do slow work on a thread of your own") if took > LONGEST_MS
        end
      end

      def same?(before, after)
        before.size == after.size && before.all? { |key, value| after.key?(key) && after[key].equal?(value) }
      end

      def now = Clock.milliseconds
      def wrong(name, what, way_out) = raise(Violation, "#{@listener.class}##{name} #{what}: #{way_out}")
    end
  end
end
