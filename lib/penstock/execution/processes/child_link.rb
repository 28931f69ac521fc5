# frozen_string_literal: true

require_relative "../../consumer/answer"
require_relative "failure"
require_relative "flows"
require_relative "frame"

module Penstock
  module Execution
    module Processes
      # Connects user code in a child with the poll loop, through the application's thread that drives this child. A query waits
      # for its answer; a request has none. Each names its unit: the user's threads outlive theirs, and must not act for the unit
      # that runs by then.
      class ChildLink
        WAIT_S = 60.0
        private_constant :WAIT_S

        # @param channel [Channel] to the application
        # @param producer [#call] returns this process's producer
        # @param monitor [Recorder]
        def initialize(channel, producer, monitor)
          @channel = channel
          @producer = producer
          @monitor = monitor
          @lock = Mutex.new
          @order = Mutex.new
          @waiting = {}
          @queries = 0
          @stopping = false
        end

        def producer = @producer.call

        # @return [Recorder]
        attr_reader :monitor

        # Statistics stay in the process that owns the connection.
        def insights(_lane) = {}.freeze

        def stopping? = @stopping

        # Called when the application has reported that it stops.
        def stopping! = @stopping = true

        # @return [Boolean] whether the broker has acknowledged the marks
        def commit(lane, _incarnation = nil) = lane.marks.owned? && ask(lane, :commit)

        # @return [Integer, nil]
        def offset_at(lane, time_ms) = ask(lane, :offset_at, time_ms)

        # @param request [Symbol, Consumer::Flow]
        def request(lane, request)
          @order.synchronize { @channel.send_value(:request, [lane.unit, request.is_a?(Symbol) ? request : Flows.dump(request)]) }
        end

        # @param unit [Integer]
        # @param metadata [String]
        # @param offset [Integer, nil] of the record that was marked with it
        def metadata(unit, metadata, offset = nil) = @channel.send_value(:request, [unit, :metadata, metadata, offset])

        # No request overtakes a unit's report: one that comes meanwhile is sent after it.
        # @yield builds the report and sends it
        def reporting(&) = @order.synchronize(&)

        # The answer to a query has arrived.
        def answered(query, answer)
          @lock.synchronize { @waiting.delete(query) }&.give([answer])
        end

        private

        # Waits without a limit: the application always answers, and when it is gone this process ends too.
        # @raise the error that the poll loop's client has raised
        def ask(lane, *query)
          answer = Consumer::Answer.new
          number = @lock.synchronize do
            @waiting[@queries += 1] = answer
            @queries
          end
          @channel.send_value(:query, [number, lane.unit, *query])
          nil until (given = answer.wait(WAIT_S))
          raise Failure.load(given.first) if given.first.is_a?(Hash)
          given.first
        end
      end
    end
  end
end
