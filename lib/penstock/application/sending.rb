# frozen_string_literal: true

require_relative "../delays/scheduler"

module Penstock
  class Application
    # Methods of the application that send messages, now or later. Any thread may use them.
    module Sending
      # @return [Producer] connects on first use, is closed with the application
      def producer = @own_producer.get

      # Sends messages that arrive later; the routes need `delay_topics`.
      # @return [Delays::Scheduler]
      def delays = @delays ||= Delays::Scheduler.new(tiers: -> { routes.delay_tiers }, producer: method(:producer))

      # A producer with the application's settings that isn't the application's: the caller closes it.
      # @yieldparam config [Producer::Settings] takes precedence over the application's
      # @return [Producer]
      # @api private
      def separate_producer(&) = @producer_factory.build(&)
    end
  end
end
