# frozen_string_literal: true

require "logger"
require "stringio"
require "penstock"
require "penstock/application"
require "penstock/consumer/base_consumer"
require "penstock/native/admin"
require "penstock/native/producer"
require_relative "embedded_broker"
require_relative "own_process"
require_relative "wait"

module Penstock
  module TestSupport
    # Runs small applications on threads of the test's process. The class that includes it defines `kafka` (settings for
    # the broker) and `unique`.
    module Consuming
      # A running application, and what its consumers received.
      class Running
        include TestSupport::Wait

        attr_reader :application, :seen, :errors, :events

        def initialize(application)
          @application = application
          @errors = Thread::Queue.new
          application.monitor.subscribe("error.occurred") { |event| @errors << event }
          @thread = Thread.new { @code = application.run!(traps: false) }
        end

        def stop
          @application.stop!
          @thread.join(30) or raise "the application has not stopped within 30 s: #{@application.snapshot}"
          @code
        end

        def code
          @thread.join(30)
          @code
        end

        def quiet = @application.quiet!
        def alive? = @thread.alive?
      end

      # Each scenario has a process of its own, so nothing of one is left when the next begins.
      def self.included(base) = base.prepend(OwnProcess)

      # Without a broker a test is skipped before its setup, and so is its teardown.
      def setup
        super
        kafka
      end

      def teardown
        (@running || []).each { |running| running.stop if running.alive? }
        super
      end

      # --- helpers

      def group = @group ||= unique("group")

      # Creates a topic with records "0", "1", … on partition 0.
      def topic_with(count, partitions: 1)
        unique("topic").tap do |name|
          create_topic(name, partitions)
          produce(name, Array.new(count, &:to_s))
        end
      end

      def create_topic(name, partitions)
        admin = Native::Admin.new(native)
        admin.create_topics([[name, partitions, 1, {}]], 10_000)
      ensure
        admin&.close
      end

      def native = kafka.to_h { |key, value| [key.to_s, value.to_s] }.slice("bootstrap.servers")

      # @param aged_s [Numeric] age of the records by their timestamps
      def produce(topic, payloads, partition: 0, aged_s: 0)
        producer = Native::Producer.new(native.merge("linger.ms" => "0"))
        at = {partition: partition, handle: false, timestamp_ms: (Time.now.to_f * 1_000).round - (aged_s * 1_000).round}
        payloads.each { |payload| producer.produce(topic, payload, **at) }
        producer.flush(10_000) or raise "not delivered"
      ensure
        producer&.close(2_000)
      end

      # @param pairs [Array<Array(String, String)>] key and payload
      # @param more [Hash] headers or a time, for each message
      def produce_keyed(topic, pairs, partition: 0, **more)
        producer = Native::Producer.new(native.merge("linger.ms" => "0"))
        pairs.each { |key, payload| producer.produce(topic, payload, key, partition: partition, handle: false, **more) }
        producer.flush(10_000) or raise "not delivered"
      ensure
        producer&.close(2_000)
      end

      # @return [Native::Envelope::Decoded] the metadata of the commit
      def committed_map(topic, partition = 0)
        admin = Native::Admin.new(native)
        _topic, _partition, offset, metadata = admin.committed_offsets(group, [[topic, partition]], 10_000).first
        Native::Envelope.decode(metadata, base: offset, topic: topic)
      ensure
        admin&.close
      end

      # Runs an application with one topic; the block is `consume`, evaluated on the consumer.
      def consuming(topic, options = ->(_route) {}, hooks: {}, config: ->(_config) {}, **settings, &consume)
        consumer = Class.new(BaseConsumer) { define_method(:consume, &consume) }
        hooks.each { |name, body| consumer.define_method(name, &body) }
        application = build(topic, consumer, options, config, settings)
        yield_running(application)
      end

      def yield_running(application)
        hear_all(application.monitor) if hears_all?
        Running.new(application).tap { |running| (@running ||= []) << running }
      end

      # Most events are built only if somebody listens: then {CheckedEvents} sees them all. On the embedded broker somebody does,
      # on the real one nobody, so each contract holds in both cases.
      def hears_all? = is_a?(EmbeddedBroker)

      # Listening to the other two changes what the clients do.
      def hear_all(monitor)
        names = monitor.available_events - %w[statistics.emitted oauthbearer.token_refresh]
        names.each { |name| monitor.subscribe(name, &:id) }
      end

      def build(topic, consumer, options, extra, settings)
        build_empty(settings, extra).tap { |application| draw(application, topic, consumer, options) }
      end

      # @return [Application] without routes
      def build_empty(settings, extra = ->(_config) {})
        name, map = group, kafka
        Application.new("contract") do |config|
          config.client_id = "contract"
          config.group_id = name
          config.kafka = {**map, **settings.delete(:kafka).to_h}
          config.shutdown_timeout = 10_000
          config.logger = Logger.new(nil)
          config.pause.timeout = 20
          config.pause.max_timeout = 200
          settings.each { |key, value| config.public_send(:"#{key}=", value) }
          extra.call(config)
        end
      end

      def draw(application, topic, consumer, options)
        application.routing.draw do
          topic(topic) do
            consumer consumer
            instance_exec(self, &options)
          end
        end
      end

      def queue = Thread::Queue.new

      # @return [Array] what has been added so far
      def all(queue) = Array.new(queue.size) { queue.pop }

      def take(queue, count, timeout = 20)
        wait_until(timeout, "#{count} entries", state: -> {
          [queue.size, @running&.map { |running|
            running.application.snapshot
          }]
        }) { queue.size >= count }
        Array.new(count) { queue.pop }
      end

      def committed(topic, partition = 0)
        admin = Native::Admin.new(native)
        rows = admin.committed_offsets(group, [[topic, partition]], 10_000)
        rows.first[2]
      ensure
        admin&.close
      end
    end
  end
end
