# frozen_string_literal: true

require_relative "../../outbox"
require_relative "examples"

module Penstock
  module Testing
    class Kit
      # Relays the rows that the code under test writes into the application's outbox. Belongs to an example; its thread.
      class OutboxRows
        # Observes the outbox of this process: counts the calls that have written rows, so that an example which has no outbox
        # runs no query; and keeps messages of relays in memory. Any thread.
        module Observer
          @lock = Mutex.new
          @calls = 0

          class << self
            # @return [Integer] how often rows were written in this process
            attr_reader :calls

            def enqueued = @lock.synchronize { @calls += 1 }

            # @param producer [Producer, Object] of a relay that begins; other classes than Penstock's can't be captured
            def relaying(producer)
              Examples.current&.capture(producer) if producer.respond_to?(:substitute)
            end
          end
        end
        Outbox.observer = Observer

        def initialize
          @seen = Observer.calls
        end

        # Sends what was written since the last call, or since the example began.
        # @return [Integer] messages that were sent
        def relay
          calls = Observer.calls
          return 0 if calls == @seen || Penstock.app.nil?

          Outbox.relay.drain.tap { @seen = calls }
        end
      end
    end
  end
end
