# frozen_string_literal: true

require_relative "status"

module Penstock
  class Producer
    # Lets tests put another client in the place of a producer's own, and take it out again: the producer, its middleware, its
    # listeners and its variants stay as they are, also where the application keeps them in a constant. A producer that was
    # closed, disconnected or connected meanwhile is afterwards as it was before. Owned by the producer; any thread.
    class Substitution
      # @param connection [Connection]
      def initialize(connection)
        @connection = connection
        @lock = Mutex.new
        @original = nil
      end

      # @param client [DryClient] used instead of every client that would be opened from now on
      # @return [Boolean] false if there is a substitute already: nothing has changed
      # @raise [ConfigurationError] the producer isn't set up
      def begin(client)
        @connection.ensure_configured
        @lock.synchronize do
          next false if @original

          @original = @connection.exchange([nil, nil, Status::CONFIGURED, nil, @connection.config, 0], client)
          true
        end
      end

      # Puts its own client back, if it had one.
      # @return [void]
      def end
        @lock.synchronize do
          @connection.exchange(@original, nil) if @original
          @original = nil
        end
      end
    end
  end
end
