# frozen_string_literal: true

require_relative "../../support/consuming"

module Penstock
  # The contract's applications on a broker: servers on threads of the test's process.
  module WholeApplicationOnBrokers
    def topic(name) = unique(name).tap { |topic| create_topic(topic, 1) }

    def consume(topic, payloads, seen, &routes)
      @routes = routes
      produce(topic, payloads)
      serve(seen)
    end

    def again(seen)
      @running.pop.stop
      serve(seen)
    end

    # After a stop in order: what was complete is committed.
    def committed_of(topic)
      @running.pop.stop
      committed(topic)
    end

    private

    def serve(seen)
      routes = @routes
      application = build_empty({kafka: {"auto.offset.reset": "earliest"}})
      application.routing.draw(&routes)
      running = yield_running(application)
      wait_until(30, "all records were consumed", state: -> { running.application.snapshot }, &seen)
    end
  end
end
