# frozen_string_literal: true

module Penstock
  class Application
    # The application's producer: made by whoever asks first, closed with the application. One that the application's own code
    # closes while it consumes is replaced, for dead letters need it; one that was given to the application (`config.producer=`)
    # is left as it is.
    module Producing
      # @return [Producer] connects on first use, is closed with the application
      def producer = (@producer && !closed_by_somebody?) ? @producer : another_producer

      # @param closed [Producer] with which something can't be sent any more
      # @return [Producer, nil] what stands in its place; nil where it wasn't the application's, or nothing does
      # @api private
      def producer_behind(closed)
        return unless closed.equal?(@producer) || @lost_producers&.key?(closed)

        producer.then { |one| one unless one.equal?(closed) }
      end

      private

      def closed_by_somebody? = @consuming && @producer.equal?(@own_producer) && @producer.closed?

      def another_producer
        one, lost = @lock.synchronize do
          lost = @producer if @producer && closed_by_somebody?
          @producer = (config.producer unless lost) || (@own_producer = made_behind(lost)) if lost || @producer.nil?
          [@producer, lost]
        end
        tell_of_lost_producer(lost) if lost
        one
      end

      # Whoever listens to the one before, or has put steps into its middleware, goes on with this one.
      def made_behind(lost)
        return build_producer unless lost

        (@lost_producers ||= ObjectSpace::WeakMap.new)[lost] = lost
        build_producer(heard: true) do |own|
          own.monitor = lost.monitor
          own.middleware = lost.middleware
        end
      end

      def tell_of_lost_producer(lost)
        error = ProducerClosedError.new("the producer #{lost.id} is the application's and was closed by its code while it " \
          "consumes. Leave out that `close`: it is flushed and closed when the application stops")
        monitor.instrument("error.occurred", {type: "producer.closed.error", error: error, producer_id: lost.id})
      end

      # The last of what the application closes.
      def close_producer(timeout_ms)
        @consuming = false
        @producer&.close(timeout_ms: timeout_ms)
      end
    end
  end
end
