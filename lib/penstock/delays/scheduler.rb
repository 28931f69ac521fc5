# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "delayed_message"

module Penstock
  module Delays
    # Sends messages that arrive later.
    #
    #     PenstockApp.delays.schedule({topic: "reminders", payload: "…"}, at: Time.now + 3_600)
    #
    # One per application; any thread may use it. Keeps nothing: once a call has returned, the broker has the message.
    class Scheduler
      # @return [Clock] the testing kit sets its own
      # @api private
      attr_writer :clock

      # @param tiers [#call] returns the application's {Routing::DelayTiers}, or nil
      # @param producer [#call] returns the application's {Producer}
      # @param clock [Clock]
      def initialize(tiers:, producer:, clock: Clock::SYSTEM)
        @tiers = tiers
        @producer = producer
        @clock = clock
      end

      # Sends a message that arrives in its topic at a time, and never before. Returns when the broker has it.
      # @param message [Hash] see {Producer}
      # @param at [Time, Integer] when; ms since 1970 if it is an Integer. A time that has passed by the clock of this machine: it
      #   is sent directly
      # @return [Producer::Delivery::Report] of the record that waits
      # @raise [ConfigurationError] the routes have no `delay_topics`
      # @raise [ArgumentError] the time or the message's topic is impossible
      # @raise [MessageInvalidError, ProduceError] see {Producer#produce_sync}
      def schedule(message, at:)
        waiting = call(message, milliseconds(at))
        @producer.call.produce_sync(waiting)
      end

      # As {#schedule} for many messages, in one call of the producer.
      # @param messages [Array<(Hash, Time)>] messages with their times
      # @return [Array<Producer::Delivery::Handle>] in their order
      # @raise [ArgumentError] one isn't such a pair; nothing was sent
      # @raise [ProduceManyError] some were not delivered, see {Producer#produce_many_sync}
      def schedule_many(messages)
        refuse_list(messages) unless messages.is_a?(Enumerable)
        waiting = messages.each_with_index.map do |pair, index|
          refuse_list(pair, "message #{index}: ") unless pair.is_a?(Array) && pair.size == 2
          call(pair.first, milliseconds(pair.last, "message #{index}: its time"))
        end
        @producer.call.produce_many_sync(waiting)
      end

      # Builds the message that has to be produced now, so that another one arrives later. For callers that produce themselves.
      # @param message [Hash] see {Producer}; isn't changed
      # @param due_ms [Integer] ms since 1970
      # @return [Hash] the message itself if the time has passed
      # @raise [ConfigurationError, ArgumentError] as {#schedule}
      def call(message, due_ms)
        delayed = DelayedMessage.new_for(message, due_ms)
        now = @clock.wall_ms
        (due_ms <= now) ? message : delayed.waiting(due_ms - now, tiers, now)
      end

      # Draws the topics it needs.
      # @param routes [Routing::Dsl::Subscription] any level of `routes.draw`
      # @return [void]
      def draw(routes)
        routes.delay_topics
      end

      private

      def tiers
        @tiers.call or raise ConfigurationError.new([Problem.new("routes", "a message can't be delayed without topics in " \
          "which it waits", "Write delay_topics in the block of routes.draw; for a job, active_job_topic of its queue")])
      end

      def refuse_list(given, place = nil)
        raise ArgumentError, "#{place}schedule_many takes pairs, [[message, time], …], not #{given.inspect[0, 80]}"
      end

      def milliseconds(time, what = "at:")
        return time if time.is_a?(Integer)
        raise ArgumentError, "#{what} must be a Time, or Integer milliseconds since 1970, is #{time.inspect[0, 80]}" unless
          time.respond_to?(:usec)

        (time.to_r * 1_000).ceil
      end
    end
  end
end
