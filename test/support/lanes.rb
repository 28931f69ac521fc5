# frozen_string_literal: true

require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/processing/topic_pipeline"
require "penstock/processing/lane"
require "penstock/runtime/loop/lane_assignment"

module Penstock
  module TestSupport
    # Lanes and batches made of plain values, for tests of the stages that decide about them.
    module Lanes
      Route = Struct.new(:name, :max_messages, :manual, :pause, :deserializers, :initial_offset, :features,
        keyword_init: true) do
        def manual_offset_management? = manual
        def eofed? = false
        def workers_max = nil
        def consumer_group = Unsplit
        def consumer_persistence = true
        def outdated?(_object) = false
      end
      Unsplit = Struct.new(:segment).new(nil)
      Pause = Struct.new(:timeout, :max_timeout, :exponential)
      Raw = Struct.new(:payload, :key, :headers, :text_parser)

      # Ports that only record calls.
      class Ports
        attr_reader :events, :seeks, :stops, :read_again

        def initialize
          @events = []
          @seeks = []
          @stops = []
          @read_again = []
        end

        def emit(name, payload) = @events << [name, payload]
        def seek(lane, target, cause) = @seeks << [lane.key, target, cause]
        def place(_lane, target) = (target == :latest) ? 100 : target
        def confirming(_lane) = yield
        def read_offset_again(lane, place) = @read_again << [lane.key, place]
        def stop(error) = @stops << error
      end

      def route(**options)
        raw = Raw.new(->(message) { message.raw_payload }, ->(message) { message.raw_key }, ->(message) { message.raw_headers })
        Route.new(name: "orders", max_messages: 100, manual: false, features: {},
          pause: Pause.new(1_000, 30_000, true), deserializers: raw, initial_offset: "earliest", **options)
      end

      # @param source [Object, nil] records are taken from it
      # @param parts [Hash] see {Processing::TopicPipeline#lane}
      def lane(topic = route, committed: nil, source: nil, **parts)
        assign(topic_pipeline(topic).lane(topic.name, 0, 1, source, **parts), source: source).tap { |lane| lane.adopt(committed) }
      end

      # The source began at the committed offset of these lanes, although nothing was taken in the test.
      # @param lanes [Array<Processing::Lane>]
      def confirm_start(*lanes) = lanes.each { |lane| lane.takes.start.confirm }

      # Gives a lane what its poll loop keeps for it.
      # @param options [Hash] see {Runtime::LaneAssignment}
      def assign(lane, source: nil, slot: nil, **options)
        lane.assignment = Runtime::LaneAssignment.new(source, slot, **options)
        lane
      end

      # Replaces parts of a lane that exists already.
      def equip(lane, **parts) = parts.each { |name, part| lane.instance_variable_set(:"@#{name}", part) }

      def topic_pipeline(topic = route, critical: [SystemExit, NoMemoryError], **options)
        Processing::TopicPipeline.new(topic, critical_errors: critical, concurrency: 4, **options)
      end

      # @param offsets [Enumerable<Integer>]
      def batch(offsets, from: nil, eof: nil, full: false, epoch: 0)
        rows = offsets.map { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p#{offset}", leader_epoch: epoch) }
        Messages::MemoryBatch.new("orders", 0, rows, from: from, eof: eof, full: full)
      end

      def admit(lane, batch, ports = Ports.new, low: nil, now: 0)
        topic_pipeline = topic_pipeline(lane.topic)
        topic_pipeline.admission.call(lane, batch, low).each { |effect| effect.perform(lane, ports) }
        lane.intake.size.clamp(1, 9).times do
          topic_pipeline.admit_next(lane, now).each { |effect| effect.perform(lane, ports) } if lane.intake.waiting?
        end
        ports
      end

      # Settles an outcome as the loop does.
      def settle(lane, unit, error: nil, blamed: nil, flow: nil, now: 0, ports: Ports.new)
        lane.returned(unit)
        unit.messages.cursor = unit.messages.first_index + unit.messages.offsets.index(blamed) if error && blamed
        blamed ||= unit.messages.blamed_offset if error
        outcome = Processing::Outcome.new(unit: unit, error: error, blamed: blamed, flow: flow, finished: true, time_ms: 1)
        topic_pipeline(lane.topic).settle(lane, outcome, now).each { |effect| effect.perform(lane, ports) }
        ports
      end

      # @return [Array<Processing::Unit>] as many as are handed out ahead
      def units_ahead(lane)
        [].tap do |units|
          while (unit = lane.next_unit)
            units << unit
          end
        end
      end

      def offsets_of(unit) = unit.messages.map(&:offset)
    end
  end
end
