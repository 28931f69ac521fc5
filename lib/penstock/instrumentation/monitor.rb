# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "../printable"
require_relative "catalogue"
require_relative "event"
require_relative "subscription"

module Penstock
  # Publishes what happens to listeners: the events (docs/events.md), the bus, a listener that logs.
  module Instrumentation
    # Delivers events to their listeners.
    #
    # Any thread may publish and subscribe. Subscriptions are kept in a frozen Hash that is replaced as a whole under a
    # lock, so publishing takes none. Listeners are called one after another on the publishing thread, in the order in
    # which they subscribed. An error in a listener never reaches the publisher: it becomes `error.occurred` of the type
    # `instrumentation.listener.error`.
    class Monitor
      # A listener that takes longer is reported (ms).
      SLOW_MS = 1_000
      BUS = "a monitor takes no other bus, such as ActiveSupport::Notifications: create it without, and subscribe a block that " \
        "passes on the events you need: " \
        "monitor.subscribe(name) { |event| ActiveSupport::Notifications.instrument(name, event.payload) }"
      EMPTY = {}.freeze
      NOBODY = [].freeze
      private_constant :BUS, :EMPTY, :NOBODY

      # @param bus [Array] must be empty: a monitor delivers its events itself
      # @param strict [Boolean] raises if a payload's keys differ from the catalogue's; for tests
      # @raise [ArgumentError]
      def initialize(*bus, catalogue: Catalogue.standard, strict: false)
        raise ArgumentError, BUS unless bus.empty?
        @catalogue = catalogue
        @strict = strict
        @lock = Mutex.new
        @late = EMPTY
        @subscriptions = catalogue.names.to_h { |name| [name, NOBODY] }.freeze
      end

      # Listeners by event, replaced on every change: while it is the same object, all results of {#subscribed?} are the
      # same.
      # @return [Hash]
      # @api private
      attr_reader :subscriptions

      # Publishes an event. With a block the event is published after it, with `:time`; when the block raises, not at all.
      #
      # @param name [String] one of {#available_events}
      # @param payload [Hash{Symbol => Object}]
      # @return [Object, nil] what the block returns
      # @raise [UnknownEventError]
      def instrument(name, payload = EMPTY, &block)
        subscriptions = @subscriptions[name] || subscriptions_of(name)
        check!(name, block ? [*payload.keys, :time] : payload.keys) if @strict
        return (yield if block) if subscriptions.empty?
        return measure(name, payload, subscriptions, &block) if block

        publish(Event.new(name, payload), subscriptions)
        nil
      end

      # Declares that an event will not be published any more: later subscribers would never receive it.
      #
      # @param name [String]
      # @param reason [String, nil] why; nil: it will be published again
      # @return [void]
      # @api private
      def too_late_for(name, reason)
        @lock.synchronize { @late = reason ? @late.merge(name => reason).freeze : @late.except(name).freeze }
      end

      # Subscribes a block to one event, or an object to many: for each event, the object's method `on_<name with
      # underscores>` is called if it exists.
      #
      # @param listener [String, Symbol, Object] name of an event (with a block), or a listener
      # @yieldparam event [Event]
      # @return [Object] the argument for {#unsubscribe}
      # @raise [UnknownEventError]
      # @raise [StatisticsNotEnabledError] the client that emits statistics was created without them
      def subscribe(listener, &block)
        return subscribe_object(listener) unless block

        name = @catalogue.fetch(listener).name
        add([[name, Subscription.new(block, block)]])
        block
      end

      # @param listener [Object] the argument of {#subscribe}, or the block it returned
      # @return [void]
      def unsubscribe(listener)
        @lock.synchronize do
          @subscriptions = @subscriptions.transform_values do |list|
            list.reject { |subscription| subscription.of?(listener) }.freeze
          end.freeze
        end
      end

      # Cheap: check it before building a payload on a hot path.
      #
      # @return [Boolean] whether there is a listener
      def subscribed?(name)
        !(@subscriptions[name] || subscriptions_of(name)).empty?
      end

      # Adds an event of the application, which can then be published and subscribed to.
      #
      # @param name [String] dotted name
      # @param keys [Array<Symbol>] keys of its payload
      # @return [void]
      def register_event(name, *keys, description: "An event of the application.")
        @lock.synchronize do
          next if @catalogue.include?(name)

          @catalogue.event(name, description, *keys)
          @subscriptions = @subscriptions.merge(name.to_s => NOBODY).freeze
        end
      end

      # @return [Array<String>]
      def available_events
        @subscriptions.keys
      end

      # Karafka's name for {#register_event}.
      # @return [Monitor]
      def notifications_bus
        self
      end

      # @return [String] without the listeners
      def inspect
        "#<#{self.class} #{@subscriptions.count { |_, list| list.any? }} events listened to>"
      end

      private

      def subscriptions_of(name)
        @subscriptions.fetch(@catalogue.fetch(name).name)
      end

      def measure(name, payload, subscriptions)
        started = Clock.milliseconds
        result = yield
        time = Clock.milliseconds - started
        publish(Event.new(name, payload.merge(time: time)), subscriptions)
        result
      end

      def publish(event, subscriptions)
        began = Clock.milliseconds
        subscriptions.each do |subscription|
          deliver(event, subscription)
          ended = Clock.milliseconds
          next began = ended if ended - began <= SLOW_MS
          slow(subscription, event, ended - began)
          began = Clock.milliseconds
        end
      end

      def deliver(event, subscription)
        subscription.call(event)
      rescue StandardError, ScriptError => error
        report(subscription, event, error)
      end

      def slow(subscription, event, took)
        return if event.id == "listener.slow" || !decade?(subscription.slow)

        instrument("listener.slow", inside: event.id, listener: subscription.description, time: took)
      end

      # @return [Boolean] whether the number is 1, 10, 100 …
      def decade?(number) = number.digits.last == 1 && number.digits[0..-2].all?(0)

      # A listener that always fails would flood the log: its first, tenth, hundredth … failure is reported. A failure
      # of a listener of `error.occurred` is only written to standard error: publishing it would recurse.
      def report(subscription, event, error)
        failures = subscription.failed
        return unless decade?(failures)
        return complain(subscription, event, error) if event.id == "error.occurred"

        instrument("error.occurred", type: "instrumentation.listener.error", error: error, inside: event.id,
          listener: subscription.description, failures: failures)
      end

      def complain(subscription, event, error)
        place = error.backtrace&.first
        text = "penstock: #{subscription.description} raised in #{event.id}: #{Printable.error(error)} (#{place})"
        warn(Printable.line(text, Printable::TEXT_BYTES))
      end

      def subscribe_object(listener)
        if listener.is_a?(String) || listener.is_a?(Symbol)
          raise ArgumentError, "subscribe(#{listener.inspect}) needs a block that takes the event"
        end

        Compat::Karafka::Events.in(listener).each { |name| @catalogue.fetch(name) unless @catalogue.include?(name) }
        add(available_events.filter_map do |name|
          method = "on_#{name.tr(".", "_")}"
          [name, Subscription.new(listener, listener.method(method))] if listener.respond_to?(method)
        end)
        listener
      end

      def add(pairs)
        @lock.synchronize do
          pairs.each { |name, _| raise StatisticsNotEnabledError, @late[name] if @late.key?(name) }
          added = pairs.to_h { |name, subscription| [name, [*@subscriptions.fetch(name), subscription].freeze] }
          @subscriptions = @subscriptions.merge(added).freeze
        end
      end

      def check!(name, keys)
        difference = @catalogue.fetch(name).difference(keys)
        raise InternalError, "#{name}: #{difference}" if difference
      end
    end
  end
end
