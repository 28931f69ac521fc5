# frozen_string_literal: true

require_relative "delivery/report"

module Penstock
  class Producer
    # Sends messages of threads that must not wait for a transaction, in separate transactions.
    #
    # Owned by a transactional producer. Any thread may call {#take}. It owns a Ruby thread while there are messages: the
    # thread takes all available messages, sends them in one transaction and resolves their handles, until there are none. If
    # the producer is closed first, the handles end with its error; if the thread is ended (killed, process exit, out of
    # memory), they end with that error, and the next message starts another thread.
    class TransactionalSender
      # Most messages in one transaction.
      BATCH = 1_000

      # The result of a message that wasn't sent.
      Failure = Struct.new(:error)

      # The delivery of a message, with the part of a delivery handle's interface that {Producer#dispatch} promises.
      class Handle
        # @return [Hash]
        attr_reader :message
        # @return [Delivery::Report, Failure, nil] nil while it is pending
        attr_reader :create_result
        # @return [#call, nil] yields inside the transaction in which only this message is sent
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
      # @yieldreturn [Array<Delivery::Report>] in their order, after the commit
      def initialize(&send_all)
        @send_all = send_all
        @lock = Mutex.new
        @waiting = []
        @running = false
      end

      # Never waits for a broker, nor for the transaction lock.
      #
      # @param message [Hash] prepared
      # @param around [#call, nil] yields inside the transaction in which only this message is sent
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
        @thread.name = "penstock transactional sender"
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
      rescue Exception => error # rubocop:disable Lint/RescueException -- it is raised again; the handles must be resolved
        fail_all(own, error)
        ended = true
        raise
      ensure
        fail_all(own, ThreadError.new("the thread that sends the message was ended")) unless ended
      end

      # Returns the next batch. A message that is added after this has returned nil starts another thread.
      #
      # @param own [Array<Handle>] the thread's handles: replaced by the next batch
      def next_handles(own)
        @lock.synchronize do
          @running = !@waiting.empty?
          own.replace(@waiting.shift(BATCH))
          own if @running
        end
      end

      # Resolves all handles that the thread is responsible for, because callers poll them. By now, the waiting ones may belong
      # to another thread.
      def fail_all(own, error)
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
