# frozen_string_literal: true

require_relative "../instrumentation/catalogue"
require_relative "../nearest"
require_relative "violation"

module Penstock
  module Lint
    # A listener that is watched: its methods are named after events there are, take one event, leave its payload alone and don't
    # keep the others waiting. Subscribe the wrapper instead of the listener.
    #
    # What is wrong with its methods is raised at once. What happens in an event is raised in the listener's place: monitors
    # rescue that and tell it as `error.occurred`.
    class Listener
      # One thread tells all listeners of all events.
      LONGEST_MS = 1_000

      # @param listener [Object] with methods `on_*`
      # @param events [Array<String>] names of events, your own too
      # @raise [Violation] with everything that is wrong with its methods
      def initialize(listener, events: Instrumentation::Catalogue.standard.names)
        @listener = listener
        @methods = events.to_h { |name| [:"on_#{name.tr(".", "_")}", name] }
        own = listener.public_methods.grep(/\Aon_/)
        found = own.filter_map { |name| problem(name) }
        found << "has no method for any event: name one on_consumer_consumed, for example" if own.empty?
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
        "takes #{arity} arguments in #{name}: an event is one"
      end

      def watch(name)
        define_singleton_method(name) do |event|
          before = event.payload.dup
          started = now
          @listener.public_send(name, event)
          took = now - started
          wrong(name, "changed the payload", "other listeners get it too: work on a copy") unless same?(before, event.payload)
          wrong(name, "took #{took.round} ms", "hand what takes long to a thread of your own") if took > LONGEST_MS
        end
      end

      def same?(before, after)
        before.size == after.size && before.all? { |key, value| after.key?(key) && after[key].equal?(value) }
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :float_millisecond)
      def wrong(name, what, way_out) = raise(Violation, "#{@listener.class}##{name} #{what}: #{way_out}")
    end
  end
end
