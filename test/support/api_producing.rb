# frozen_string_literal: true

require "logger"
require "penstock/producer"
require_relative "native_producing"

module Penstock
  module TestSupport
    # Producers of the public API, on a mock cluster of their own or on a port where nobody listens. Teardown closes
    # them all.
    module ApiProducing
      include NativeProducing

      def teardown
        @apis&.each { |api| api.close(timeout_ms: 0) }
        super
      end

      def api(address = NativeProducing::NOBODY, kafka: {})
        Producer.new do |config|
          config.kafka = {"bootstrap.servers": address, **kafka}
          config.logger = Logger.new(File::NULL)
          yield config if block_given?
        end.tap { |made| (@apis ||= []) << made }
      end

      def connected_api(**options, &block)
        api(cluster.bootstrap_servers, **options, &block)
      end

      def thing(payload = "x", **parts)
        {topic: "things", payload: payload, **parts}
      end

      # @return [Queue] of the events, in the order in which they are emitted
      def events_of(sender, *names)
        Queue.new.tap { |seen| names.each { |name| sender.monitor.subscribe(name) { |event| seen << event } } }
      end

      def all_of(queue)
        Array.new(queue.size) { queue.pop }
      end
    end
  end
end
