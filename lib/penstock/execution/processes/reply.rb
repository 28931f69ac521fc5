# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../on_demand"
require_relative "../../processing/unit"
require_relative "../retry_offset"
require_relative "failure"
require_relative "flows"
require_relative "recorder"
require_relative "remote_consumer"
Penstock.load_constant :WorkerDied

module Penstock
  module Execution
    module Processes
      # A process of the pool has recorded more events than are sent.
      class EventsDropped < StandardError
        include Error
      end

      # Turns the reports of children into outcomes, and emits the events they recorded. Shared by all children's threads;
      # stateless.
      class Reply
        # Errors of a call of `consume`.
        FAILED = %w[consumer.consume.error consumer.critical.error].freeze
        private_constant :FAILED

        # @param monitor [Instrumentation::Monitor]
        # @param clock [Clock]
        # @param queue [#snapshot] passed to listeners of worker events
        # @param size [Integer] processes: the poll loop needs the average time between ends of units
        # @param callback_results [#call] runs the callbacks for a failure: unit, error and blamed offset
        # @param forecast [#call] returns the keys of `error.occurred` about it: the same
        def initialize(monitor:, clock:, queue:, size:, callback_results:, forecast:)
          @callback_results = callback_results
          @forecast = forecast
          @monitor = monitor
          @clock = clock
          @queue = queue
          @size = size
        end

        # The unit was sent to a child.
        def began(unit)
          unit.messages.processing!(@clock.wall_ms)
          emit("worker.process") { {job: unit, jobs_queue: @queue} }
          emit("consumer.consume") { batch(unit, RemoteConsumer.new(unit, [], nil)) } if unit.consume?
        end

        # @param entry [InFlight::Entry]
        # @param report [ReportCodec::Report]
        # @return [Processing::Outcome]
        def outcome(entry, report)
          unit = entry.unit
          rest = report.rest
          error = rest[:error] && Failure.load(rest[:error])
          unit.messages.cursor = index_of(unit, rest[:blamed]) if rest[:located]
          publish(unit, rest, error)
          consumed(unit, report) if unit.consume? && !error
          build(unit, error: error, blamed: rest[:blamed], flow: Flows.load(rest[:flow]),
            finished: report.finished, time_ms: report.took_us / 1_000, time_us: report.took_us / @size)
        end

        # The child has died while it ran the unit.
        # @param status [Array(Integer, Integer)] signal, exit code
        # @param state [SharedStatus::State, nil] which record it was at
        def died(entry, pid, status, state)
          unit = entry.unit
          blamed = state&.offset || unit.messages.blamed_offset
          error = WorkerDied.new(pid: pid, signal: status.first, exit_code: status.last, topic: unit.lane.topic_name,
            partition: unit.lane.partition, offset: blamed)
          failed(unit, error, blamed: blamed)
        end

        # The unit didn't run, or it isn't known how far it ran.
        def failed(unit, error, blamed: unit.messages.blamed_offset)
          report(unit, error, blamed)
          build(unit, error: error, blamed: blamed, finished: false, time_ms: 0)
        end

        # It was interrupted before it had begun, or is no longer wanted.
        def interrupted(entry)
          unit = entry.unit
          build(unit, error: entry.interrupt || Interrupted.new, blamed: unit.messages.blamed_offset, finished: false, time_ms: 0)
        end

        # Publishes events of a child that belong to no unit.
        # @param list [Array<Array>] see {Recorder#take}
        # @param dropped [Integer]
        def events(list, dropped)
          list.each { |name, payload| emit(name) { revived(payload) } }
          report_dropped(dropped, {}) if dropped.positive?
        end

        private

        def build(unit, **values)
          emit("worker.processed") { {job: unit, jobs_queue: @queue, time: values[:time_ms].to_f} } unless values[:error]
          emit("worker.completed") { {job: unit, jobs_queue: @queue} }
          error = values[:error]
          results = @callback_results.call(unit, error, values[:blamed]) if error
          Processing::Outcome.new(unit: unit, callback_results: results, **values).freeze
        end

        # The child knows which record has failed; what is decided here asks the messages.
        def index_of(unit, offset) = unit.messages.first_index + unit.messages.offsets.index(offset)

        # Events of the child are published here, where the listeners are; a {RemoteConsumer} represents its consumer.
        def publish(unit, rest, error)
          caller = RemoteConsumer.new(unit, rest[:tags] || [], rest[:consumer]) if rest[:events]
          rest[:events]&.each do |name, payload, consumer|
            more = (error && FAILED.include?(payload[:type])) ? @forecast.call(unit, error, rest[:blamed]) : {}
            more = {**more, caller: caller} if consumer.nil? || consumer == rest[:consumer]
            emit(name) { {**more, **revived(payload), **retried_from(unit, payload)} }
          end
          report_dropped(rest[:dropped], {topic: unit.lane.topic_name, partition: unit.lane.partition}) if rest[:dropped]
        end

        def report_dropped(count, place)
          emit("error.occurred") do
            error = EventsDropped.new("#{count} events of a process of the pool were not published: at most " \
              "#{Recorder::MOST} are kept during a call. Emit fewer of them there")
            {type: "worker.process.error", error: error, **place}
          end
        end

        def consumed(unit, report)
          emit("consumer.consumed") do
            batch(unit, RemoteConsumer.new(unit, report.rest[:tags] || [], nil))
              .merge!(time: report.took_us / 1_000.0, lag: unit.lag)
          end
        end

        def batch(unit, caller)
          lane = unit.lane
          messages = unit.messages
          {topic: lane.topic_name, partition: lane.partition, first_offset: messages.first_offset,
           last_offset: messages.last_offset, messages_count: messages.size, attempt: unit.attempt, caller: caller}
        end

        # A child doesn't know what of its partition is complete.
        def retried_from(unit, payload) = payload.key?(:seek_offset) ? {seek_offset: RetryOffset.of(unit)} : {}

        def revived(payload)
          payload.transform_values { |value| (value.is_a?(Hash) && value.key?(:failure)) ? Failure.load(value[:failure]) : value }
        end

        def report(unit, error, blamed)
          lane = unit.lane
          emit("error.occurred") do
            {type: "consumer.#{unit.action}.error", error: error, topic: lane.topic_name, partition: lane.partition,
             seek_offset: RetryOffset.of(unit), caller: RemoteConsumer.new(unit, [], nil), **@forecast.call(unit, error, blamed)}
          end
        end

        def emit(name)
          @monitor.instrument(name, yield) if @monitor.subscribed?(name)
        end
      end
    end
  end
end
