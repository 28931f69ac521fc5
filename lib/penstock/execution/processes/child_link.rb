# frozen_string_literal: true

require_relative "frame"

module Penstock
  module Execution
    module Processes
      # The way from user code in a child to the poll loop: through the application's thread that looks after this child. What
      # needs an answer waits for it; what doesn't is a frame and nothing else.
      class ChildLink
        # @param channel [Channel] to the application
        # @param producer [#call] gives this process's producer
        def initialize(channel, producer)
          @channel = channel
          @producer = producer
          @lock = Mutex.new
          @waiting = {}
          @questions = 0
          @stopping = false
        end

        # @return [Integer] the unit that runs
        attr_accessor :unit

        def producer = @producer.call

        # Statistics stay in the process that owns the connection.
        def insights(_lane) = {}.freeze

        def stopping? = @stopping

        # Told by the application.
        def stopping! = @stopping = true

        # @return [Boolean] whether the broker has acknowledged the marks
        def commit(lane, _incarnation = nil) = lane.marks.owned? && ask(:commit)

        # @return [Integer, nil]
        def offset_at(_lane, time_ms)
          found = ask(:offset_at, time_ms)
          raise Failure.load(found) if found.is_a?(Hash)
          found
        end

        # @param wish [Symbol, Consumer::Flow]
        def request(_lane, wish) = @channel.send_value(:wish, [unit, wish.is_a?(Symbol) ? wish : Flows.dump(wish)])

        # @param metadata [String]
        def metadata(metadata) = @channel.send_value(:wish, [unit, :metadata, metadata])

        # The answer to a question has come.
        def answered(question, answer)
          @lock.synchronize { @waiting.delete(question) }&.push([answer])
        end

        private

        def ask(*question)
          queue = Thread::Queue.new
          number = @lock.synchronize do
            @waiting[@questions += 1] = queue
            @questions
          end
          @channel.send_value(:question, [number, unit, *question])
          queue.pop.first
        end
      end
    end
  end
end
