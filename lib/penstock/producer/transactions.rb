# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "reporter"
require_relative "transaction"
require_relative "transaction_commands"
require_relative "transaction_lock"

module Penstock
  class Producer
    # Runs the transactions of a producer, one after the other: begins and ends them, and finds out the end of the last one
    # before the next begins. Runs on the thread that called with the block; ends with {#shut}.
    #
    # States of the transaction that the cluster may know of:
    #
    # * none: left by begin, to beginning and, with its answer, to open
    # * open: left by the end of the block, to committing or aborting. An interrupt between two steps: to aborting, at the latest
    #   before the next begins
    # * committing: left by the coordinator's answer, to none; that it must be aborted, to aborting; a fatal error, to none with
    #   a new client. An interrupt, or no answer in time: it stays until the same call, made again, is answered
    # * aborting: left by the answer, to none. An interrupt, or no answer in time: as above
    #
    # So what isn't known to have ended is never followed by another transaction.
    class Transactions
      # What a transaction needs of its producer. `client` opens one when there is none; `reload` replaces it, and returns the
      # old client's {Reporter}, which has to be joined once no lock is held, or nil.
      Port = Struct.new(:client, :reload, :sender, keyword_init: true)

      # The client is closed, or belongs to another process.
      GONE = [HandleClosedError, ForkedHandleError].freeze

      # What librdkafka takes for transaction.timeout.ms.
      LIBRARYS_TIMEOUT_MS = 60_000
      private_constant :LIBRARYS_TIMEOUT_MS

      # How long one wait for reports before an abort lasts at most, in ms.
      LOOK_MS = 50

      # @param settings [Settings]
      # @param port [Port]
      # @param commands [TransactionCommands]
      def initialize(settings, port, commands: TransactionCommands.new(settings), clock: Clock::SYSTEM)
        @settings = settings
        @port = port
        @commands = commands
        @clock = clock
        @lock = TransactionLock.new
        @state = :none
        @reloads = 0
        @left = []
      end

      # @return [Transaction, nil] that of the calling fiber
      def current
        @current if @lock.mine?
      end

      # Runs the block in a transaction, once all earlier ones are known to have ended.
      #
      # @yieldparam transaction [Transaction]
      # @return [Object, nil] what the block returns; nil when it was aborted on purpose
      # @raise [TransactionTimeoutError] it was open for too long, and the coordinator has aborted it
      def run(&block)
        @lock.hold do
          make_ready
          timed_finish { perform(&block) }
        rescue FencedError => error
          raise out_of_time(error)
        ensure
          abort_left_open
        end
      ensure
        join_listeners
      end

      # @return [Boolean] whether none is open, about to begin, nor to be found out about
      def idle?
        @state == :none && @lock.free?
      end

      # Runs the block while no transaction is open, nor one whose end isn't known.
      #
      # @return [Object, nil] what the block returns; nil, without having called it, when there is one
      # @raise [ProducerClosedError] the producer is closing
      def between
        result = nil
        @lock.try { result = yield if @state == :none }
        result
      end

      # @param offsets [Array] as the driver takes them
      # @param group [Native::GroupMetadata]
      # @return [void]
      # @raise [KafkaError]
      def send_offsets(offsets, group)
        command("store_offset") { |client, left_ms| client.send_offsets_to_transaction(offsets, group, left_ms) }
      end

      # Finds out the end of a transaction whose end isn't known, unless another thread has the lock: that thread finds out
      # before it begins the next one. If the client was lost, initializes the new one, with which the coordinator ends what was
      # open.
      #
      # @param transaction [Transaction]
      # @return [Symbol] its {Transaction#fate}; :unknown while it runs
      def settle(transaction)
        return :unknown if transaction.open?

        @lock.try { make_ready } if %i[unknown lost].include?(transaction.fate)
        transaction.fate
      rescue *GONE
        transaction.fate = :lost
      rescue KafkaError, WaitTimeoutError
        transaction.fate # emitted as an event
      ensure
        join_listeners
      end

      # Ends what a former owner of the id has left open, unless a transaction runs.
      #
      # @return [void]
      def prepare
        @lock.try { make_ready }
      rescue KafkaError, WaitTimeoutError, *GONE
        nil # emitted as an event; it is tried again before the first transaction
      ensure
        join_listeners
      end

      # Lets the running transaction end, and no other begin. Ends what it leaves open.
      #
      # @param deadline [Deadline]
      # @return [void]
      def shut(deadline)
        @commands.end_by(deadline) unless @lock.shut?
        find_out if @lock.shut(deadline)
      rescue KafkaError, WaitTimeoutError, *GONE
        nil # emitted as an event, or there is nothing to be ended here
      ensure
        join_listeners
      end

      private

      # -- before the block --

      def make_ready
        find_out
        client = @port.client.call
        return if client.equal?(@ready)

        recovering { command("init") { |ready, left_ms| unless_done { ready.init_transactions(left_ms) } } }
        @ready = client
      end

      # Ends what an interrupt or an unanswered call left open.
      def find_out
        case @state
        when :committing then commit(again: true)
        when :beginning, :open, :aborting then abort(again: true)
        end
      rescue KafkaError
        raise unless @state == :none
      end

      def begin_transaction
        @state = :beginning
        @begun_us = nil
        @outlived = false
        recovering { command("begin") { |client, _| client.begin_transaction } }
        @state = :open
        @delivered = @port.client.call.counts.first
        @current = @last = Transaction.new(@port.sender)
        @begun_us = @clock.monotonic_us
        emit("transaction.started")
      end

      # -- the block --

      def perform(&block)
        begin_transaction
        result = guard(&block)
        commit
        result
      rescue AbortTransaction
        nil
      ensure
        leave
      end

      # Aborts if the block is left in any way except by its end.
      def guard
        ended = false
        result = yield @current
        ended = true
        result
      rescue Exception => error # rubocop:disable Lint/RescueException -- also what isn't a StandardError aborts; all go on
        ended = true
        abort_because(error)
        raise
      ensure
        leave_early unless ended
      end

      # A killed thread leaves its blocks as a throw does, but no caller is left to get an error.
      def leave_early
        abort_because(nil)
        raise EarlyTransactionExitNotAllowedError unless Thread.current.status == "aborting"
      end

      # The caller gets the error that caused the abort, not that of a failed abort, which was emitted as an event. Except after
      # an abort on purpose: then nil must mean that it was aborted.
      def abort_because(error)
        abort(error)
      rescue KafkaError, *GONE
        raise if error.is_a?(AbortTransaction)
      end

      # -- its end --

      # @param again [Boolean] whether it may have been committed already, unknown to us
      def commit(again: false)
        @state = :committing
        @last.fate = :unknown
        command("commit") { |client, left_ms| unless_done(again) { client.commit_transaction(left_ms) } }
        @reloads = 0
        ended("committed")
      rescue KafkaError => error
        raise unanswered(error) if error.retriable? && !error.abortable?

        @last.fate = error.abortable? ? :aborted : :lost
        error.abortable? ? abort_because(error) : recover(error)
        raise
      end

      def unanswered(error)
        WaitTimeoutError.new("the commit of a transaction was not answered in time: it may be committed or not. The " \
          "producer asks again before anything else. #{error.message}")
      end

      # @param cause [Exception, nil] what made it necessary
      # @param again [Boolean] whether it may have ended, or never begun, unknown to us
      def abort(cause = nil, again: false)
        begun = @state != :beginning
        await_first_report if begun && !lost?(cause)
        @state = :aborting if begun
        command("abort") { |client, left_ms| unless_done(again) { client.abort_transaction(left_ms) } }
        begun ? ended("aborted") : @state = :none
      rescue RetriableError
        raise
      rescue KafkaError => error
        recover(error)
        raise
      end

      # An interrupt may have come between the client's answer and our note of it: then the repeated call isn't valid any more.
      def unless_done(again = true)
        yield
      rescue KafkaError => error
        raise unless again && error.code == :state && !error.fatal?
      end

      # librdkafka#4849: while the coordinator still ends the transaction before, it makes the client ask again to register
      # partitions. An abort overtakes that question and then meets the former transaction's state, which ends the client.
      # The first report proves that one partition is registered; then an abort is answered as it should be. The flush makes
      # messages leave that linger.
      def await_first_report
        client = @port.client.call
        deadline = @commands.deadline(@settings.wait_timeout_on_transaction_abort)
        until registered?(client) || deadline.expired?
          client.flush(deadline.wait_ms(LOOK_MS))
        end
      end

      # True also when there is nothing to be registered: then no broker is asked to abort.
      def registered?(client)
        client.counts.first != @delivered || client.queue_size.zero?
      end

      # Whether the client itself has given up this transaction.
      def lost?(error)
        errors = [error, error&.cause].grep(KafkaError)
        errors.any? { |each| each.abortable? || each.fatal? } || !@port.client.call.fatal_error.nil?
      end

      # Listeners may produce again.
      def ended(how)
        @state = :none
        @last.fate = how.to_sym
        leave
        emit("transaction.#{how}")
      end

      def leave
        @current&.close
        @current = nil
      end

      # Needed if an exception came from outside while none of the steps above ran.
      def abort_left_open
        abort(again: true) if %i[beginning open].include?(@state)
      rescue KafkaError, *GONE
        nil # emitted as an event; it is tried again before the next
      end

      # -- errors --

      def command(name)
        client = @port.client.call
        @commands.call(name) { |left_ms| yield(client, left_ms) }
      end

      def recovering
        yield
      rescue RetriableError
        @state = :none
        raise
      rescue KafkaError => error
        recover(error)
        raise
      end

      # Replaces a client that is lost. An error that can neither be retried nor aborted means that it is lost.
      def recover(error)
        @state = :none
        return unless @settings.reload_on_transaction_fatal_error && @reloads < @settings.max_attempts_on_transaction_fatal_error

        @outlived = open_too_long? unless @settings.reloadable?(error)
        return unless @outlived || @settings.reloadable?(error)

        @reloads += 1
        @left.push(*@port.reload.call(error, @reloads))
        @commands.pause(@settings.wait_backoff_on_transaction_fatal_error)
      end

      # The coordinator aborts a transaction that is open for too long, with the error for a producer that another has fenced.
      def open_too_long?
        !@begun_us.nil? && @clock.monotonic_us - @begun_us >= limit_ms * 1_000
      end

      def limit_ms = Integer(@settings.kafka[:"transaction.timeout.ms"] || LIBRARYS_TIMEOUT_MS)

      # If the client was fenced only because its transaction was open for too long, and was replaced, the caller may continue.
      def out_of_time(error)
        return error unless @outlived

        TransactionTimeoutError.new("the transaction was open for longer than transaction.timeout.ms (#{limit_ms} ms): the " \
          "coordinator has aborted it, and the producer has a new client. Run it again, in less time or with a higher limit. " \
          "#{error.message}", code: :transaction_timed_out, number: error.number, retriable: true)
      end

      # -- events --

      # Joins the reporters of replaced clients. Not while this fiber has the lock: their listeners may be waiting for it.
      def join_listeners
        return if @lock.mine? && !@lock.shut?

        while (left = @left.shift)
          left.join(Reporter::LISTENERS_MS)
        end
      end

      def timed_finish
        started_ms = @clock.monotonic_us
        yield
      ensure
        emit("transaction.finished", time: (@clock.monotonic_us - started_ms) / 1_000.0)
      end

      def emit(event, **payload)
        @settings.monitor.instrument(event, {producer_id: @settings.id, **payload})
      end
    end
  end
end
