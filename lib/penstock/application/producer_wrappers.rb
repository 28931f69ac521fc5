# frozen_string_literal: true

require_relative "../errors"
require_relative "../weak_set"

module Penstock
  class Application
    # Wrappers around calls of all producers that an application creates or is given, see {Producer::Middleware#around}: its own,
    # that of the outbox, those of processes forked from it. Owned by the application. Any thread.
    class ProducerWrappers
      def initialize
        @lock = Mutex.new
        @list = [].freeze
        @known = WeakSet.new
      end

      # Adds a wrapper to the producers that exist and to later ones.
      # @param wrapper [#call]
      # @return [void]
      def add(wrapper)
        @lock.synchronize do
          @list = [*@list, wrapper].freeze
          @known.to_a.each { |middleware| wrap(middleware, wrapper) }
        end
      end

      # Called for each producer.
      # @param middleware [Producer::Middleware]
      # @return [void]
      def apply(middleware)
        @lock.synchronize do
          @known.add(middleware)
          @list.each { |wrapper| wrap(middleware, wrapper) }
        end
      end

      # For messages that no producer gets yet, such as those of the outbox.
      # @param type [String] as a wrapper receives it
      # @param messages [Array<Hash>]
      # @yieldparam messages [Array<Hash>] these, or others in their place
      # @return [Object] what the block returns
      def call(type, messages, &block) = within(@list, type, messages, &block)

      private

      def wrap(middleware, wrapper)
        unless middleware.respond_to?(:around)
          raise ConfigurationError, "config.middleware of a producer is a #{middleware.class}, which has no method around: " \
            "#{wrapper.class} can't wrap its calls. Inherit from Penstock::Producer::Middleware"
        end

        middleware.around(wrapper)
      end

      def within(list, type, messages, &block)
        return yield(messages) if list.empty?
        list.first.call(type, messages) { |own| within(list.drop(1), type, own, &block) }
      end
    end
  end
end
