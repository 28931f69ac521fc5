# frozen_string_literal: true

require "penstock/native/mock_cluster"
require "penstock/native/producer"
require_relative "wait"

module Penstock
  module TestSupport
    # Native producers for tests, on a mock cluster of their own or on a port where nobody listens. Teardown closes them
    # all.
    module NativeProducing
      NOBODY = "127.0.0.1:1"

      def teardown
        producers.each { |producer| producer.close(0) }
        @cluster&.close
        super
      end

      # @return [Native::MockCluster] with the topic `things` of two partitions
      def cluster
        @cluster ||= Native::MockCluster.new.tap { |cluster| cluster.create_topic("things", 2) }
      end

      # @return [Native::Producer] with `things` open
      def producer_on(address, **properties)
        texts = properties.to_h { |name, value| [name.to_s.tr("_", "."), value.to_s] }
        producer = Native::Producer.new({"bootstrap.servers" => address, **texts})
        producers << producer
        producer.open_topic("things")
        producer
      end

      def producer(**properties)
        producer_on(cluster.bootstrap_servers, **properties)
      end

      # A producer without a broker: nothing is ever delivered.
      def stranded_producer(**properties)
        producer_on(NOBODY, **properties)
      end

      def dispatch(producer, payload = "x", **parts)
        producer.dispatch({topic: "things", payload: payload, **parts})
      end

      def seconds
        started = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
        yield
        ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) - started
      end

      # For a close, which would otherwise wait for minutes.
      # @return [Numeric] the limit on the clock, longer under a memory checker
      def limit(seconds) = seconds * Wait::TIME_FACTOR

      private

      def producers
        @producers ||= []
      end
    end
  end
end
