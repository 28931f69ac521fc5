# frozen_string_literal: true

require_relative "../../consumer/answer"
require_relative "frame"

module Penstock
  module Execution
    module Processes
      # Connects user code in a child with the poll loop, through the application's thread that drives this child. A question
      # waits for its answer; a wish is just a frame. Each names its unit: the user's threads outlive theirs, and must not act
      # for the unit that runs by then.
      class ChildLink
        PATIENCE_S = 60.0
        private_constant :PATIENCE_S

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
          @questions = 0
          @stopping = false
        end

        def producer = @producer.call

        # @return [Recorder]
        attr_reader :monitor

        # Statistics stay in the process that owns the connection.
        def insights(_lane) = {}.freeze

        def stopping? = @stopping

        # The application has reported it.
        def stopping! = @stopping = true

        # @return [Boolean] whether the broker has acknowledged the marks
        def commit(lane, _incarnation = nil) = lane.marks.owned? && ask(lane, :commit)

        # @return [Integer, nil]
        def offset_at(lane, time_ms)
          found = ask(lane, :offset_at, time_ms)
          raise Failure.load(found) if found.is_a?(Hash)
          found
        end

        # @param wish [Symbol, Consumer::Flow]
        def request(lane, wish)
          @order.synchronize { @channel.send_value(:wish, [lane.unit, wish.is_a?(Symbol) ? wish : Flows.dump(wish)]) }
        end

        # @param unit [Integer]
        # @param metadata [String]
        def metadata(unit, metadata) = @channel.send_value(:wish, [unit, :metadata, metadata])

        # No wish overtakes a unit's report: one that comes meanwhile is sent after it.
        # @yield builds the report and sends it
        def reporting(&) = @order.synchronize(&)

        # The answer to a question has arrived.
        def answered(question, answer)
          @lock.synchronize { @waiting.delete(question) }&.give([answer])
        end

        private

        # The application always answers, or is gone, and this process with it.
        def ask(lane, *question)
          answer = Consumer::Answer.new
          number = @lock.synchronize do
            @waiting[@questions += 1] = answer
            @questions
          end
          @channel.send_value(:question, [number, lane.unit, *question])
          nil until (given = answer.wait(PATIENCE_S))
          given.first
        end
      end
    end
  end
end
