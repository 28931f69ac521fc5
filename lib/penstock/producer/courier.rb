# frozen_string_literal: true

require_relative "delivery/report"

module Penstock
  class Producer
    # Sends, in transactions of their own, messages of threads that must not wait for one. Owns a Ruby thread while there are
    # any: it takes all that are there, sends them in one transaction and resolves their handles, until there are none. When
    # the producer is closed first they end with its error; when the thread is ended (a kill, an exit, no memory) they end with
    # that, and the next message has another one.
    class Courier
      # How many messages share a transaction at most.
      BATCH = 1_000

      # What became of a message that wasn't sent.
      Failure = Struct.new(:error)

      # A message on its way, with as much of a delivery's handle as those threads look at.
      class Handle
        # @return [Hash]
        attr_reader :message
        # @return [Delivery::Report, Failure, nil] nil while it is pending
        attr_reader :create_result
        # @return [#call, nil] what it is sent within, alone
        attr_reader :around

        def initialize(message, around = nil)
          @message = message
          @around = around
        end

        # @return [Boolean]
        def done?
          !@create_result.nil?
        end

        # @param result [Delivery::Report, Failure]
        # @return [void]
        def resolve(result)
          @create_result ||= result
        end
      end

      # @yieldparam messages [Array<Hash>]
      # @yieldreturn [Array<Delivery::Report>] in their order, once they are committed
      def initialize(&send_all)
        @send_all = send_all
        @lock = Mutex.new
        @waiting = []
        @running = false
      end

      # Never waits for a broker, nor for who has the transaction.
      #
      # @param message [Hash] prepared
      # @param around [#call, nil] yields where the message is to be sent, alone
      # @return [Handle]
      def take(message, around = nil)
        Handle.new(message, around).tap do |handle|
          @lock.synchronize do
            @waiting << handle
            start unless @running && @thread.alive?
          end
        end
      end

      private

      # Must be called with the lock held.
      def start
        @thread = Thread.new { run }
        @thread.name = "penstock courier"
        @thread.report_on_exception = false
        @running = true
      end

      def run
        own = []
        while (handles = next_handles(own))
          alone, together = handles.partition(&:around)
          send_together(together) unless together.empty?
          alone.each { |handle| send_together([handle], handle.around) }
        end
        ended = true
      rescue Exception => error # rubocop:disable Lint/RescueException -- it goes on; what it leaves has an end
        give_up(own, error)
        ended = true
        raise
      ensure
        give_up(own, ThreadError.new("the thread that was to send it was ended")) unless ended
      end

      # Whoever comes behind the last look starts another thread.
      #
      # @param own [Array<Handle>] what the thread has: becomes the next
      def next_handles(own)
        @lock.synchronize do
          @running = !@waiting.empty?
          own.replace(@waiting.shift(BATCH))
          own if @running
        end
      end

      # Somebody asks for what became of each until it is known. What waits may be another thread's by now.
      def give_up(own, error)
        left = @lock.synchronize do
          next own.to_a unless @thread.equal?(Thread.current)

          @running = false
          own.to_a + @waiting.slice!(0..)
        end
        left.each { |handle| handle.resolve(Failure.new(error)) }
      end

      def send_together(handles, around = nil)
        send = -> { @send_all.call(handles.map(&:message)) }
        reports = around ? around.call(&send) : send.call
        handles.zip(reports) { |handle, report| handle.resolve(report) }
      rescue => error
        handles.each { |handle| handle.resolve(Failure.new(error)) }
      end
    end
  end
end
