# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "reporter"
require_relative "transaction"
require_relative "transaction_commands"
require_relative "transaction_lock"
require_relative "transaction_reason"

module Penstock
  class Producer
    # Runs the transactions of a producer, one after the other: begins and ends them, and finds out how the last one ended
    # before the next begins. Runs on the thread that called it with the block; ends with {#shut}.
    #
    # States of the transaction as the cluster may know it:
    #
    # * none: after begin → beginning and, with its answer, → open
    # * open: at the end of the block → committing or aborting. An interrupt between two steps → aborting, at the latest
    #   before the next transaction begins
    # * committing: after the coordinator's answer → none; after the answer that it must be aborted → aborting; after a fatal
    #   error → none with a new client. An interrupt, or no answer in time: stays until the same call, made again, is answered
    # * aborting: after the answer → none. An interrupt, or no answer in time: as above
    #
    # So no transaction begins before the previous one is known to have ended.
    class Transactions
      # The parts of the producer that a transaction uses. `client` opens one if there is none; `reload` replaces it, and
      # returns the old client's {Reporter}, which has to be joined once no lock is held, or nil.
      Port = Struct.new(:client, :reload, :sender, keyword_init: true)

      # The client is closed, or belongs to another process.
      GONE = [HandleClosedError, ForkedHandleError].freeze

      # librdkafka's default of transaction.timeout.ms.
      LIBRARYS_TIMEOUT_MS = 60_000
      private_constant :LIBRARYS_TIMEOUT_MS

      # Longest single wait for reports before an abort, in ms.
      LOOK_MS = 50

      # @param settings [Settings]
      # @param port [Port]
      # @param commands [TransactionCommands]
      def initialize(settings, port, commands: TransactionCommands.new(settings), clock: Clock::SYSTEM)
        @settings = settings
        @port = port
        @commands = commands
        @clock = clock
        @lock = TransactionLock.new(limit_ms: limit_ms + settings.max_wait_timeout) { |text| warn_of(text) }
        @state = :none
        @reloads = 0
        @left = []
        @unanswered = false
        @ready = ObjectSpace::WeakMap.new # the clients that are initialized
      end

      # @return [Transaction, nil] of the calling fiber
      def current
        @current if @lock.mine?
      end

      # Runs the block in a transaction, once all earlier ones are known to have ended.
      # @yieldparam transaction [Transaction]
      # @return [Object, nil] what the block returns; nil after an abort on purpose
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

      # @return [Boolean] whether no transaction is open, about to begin, or unresolved
      def idle?
        @state == :none && @lock.free?
      end

      # Runs the block while no transaction is open or unresolved.
      #
      # @return [Object, nil] what the block returns; nil, without calling it, if there is one
      # @raise [ProducerClosedError] the producer is closing
      def between
        result = nil
        @lock.try { result = yield if @state == :none }
        result
      end

      # @param offsets [Array] as for the driver
      # @param group [Native::GroupMetadata]
      # @return [void]
      # @raise [KafkaError]
      def send_offsets(offsets, group)
        @unanswered = true # also if this thread is killed
        late = false
        command("store_offset") do |client, left_ms|
          client.send_offsets_to_transaction(offsets, group, left_ms)
        rescue KafkaError => error
          late ||= error.code == :timed_out
          raise TransactionReason.of(error, client)
        end
        @unanswered = late
      rescue KafkaError
        @unanswered = late
        raise
      end

      # Finds out how an unresolved transaction ended, unless another thread has the lock: that thread finds out before it
      # begins the next one. If the client was lost, initializes the new one, which makes the coordinator end an open
      # transaction.
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

      # Ends transactions that an earlier owner of the id has left open, unless a transaction runs.
      #
      # @return [void]
      def prepare
        @lock.try { make_ready }
      rescue KafkaError, WaitTimeoutError, *GONE
        nil # emitted as an event; it is tried again before the first transaction
      ensure
        join_listeners
      end

      # Waits for the running transaction to end, and admits no other. Ends what it leaves open.
      #
      # @param deadline [Deadline]
      # @return [void]
      def shut(deadline)
        @commands.end_by(deadline) unless @lock.shut?
        find_out if @lock.shut(deadline)
      rescue KafkaError, WaitTimeoutError, *GONE
        nil # emitted as an event, or there is nothing to end here
      ensure
        join_listeners
      end

      private

      # -- before the block --

      def make_ready
        find_out
        client = @port.client.call
        return if @ready.key?(client)

        recovering { command("init") { |ready, left_ms| unless_done { ready.init_transactions(left_ms) } } }
        @ready[client] = true
        @unanswered = false # its epoch is new
      end

      # Ends a transaction that an interrupt or an unanswered call left open.
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

      # Aborts if the block is left in any way other than by its end.
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

      # A killed thread leaves its blocks like a throw does, but no caller is left to get an error.
      def leave_early
        abort_because(nil)
        raise EarlyTransactionExitNotAllowedError unless Thread.current.status == "aborting"
      end

      # The caller gets the error that caused the abort, not that of a failed abort, which was emitted as an event. Exception:
      # after an abort on purpose nil must mean that it was aborted.
      def abort_because(error)
        abort(error)
      rescue KafkaError, *GONE
        raise if error.is_a?(AbortTransaction)
      end

      # -- its end --

      # @param again [Boolean] whether an earlier commit may already have succeeded
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
        WaitTimeoutError.new("the commit of a transaction was not answered in time: it may or may not be committed. The " \
          "producer asks again before the next transaction. #{error.message}")
      end

      # @param cause [Exception, nil] the error that made it necessary
      # @param again [Boolean] whether an earlier abort may already have succeeded, or the transaction never began
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

      # An interrupt may have come after the client's answer and before it was stored here: then the repeated call is invalid.
      def unless_done(again = true)
        yield
      rescue KafkaError => error
        raise unless again && error.code == :state && !error.fatal?
      end

      # librdkafka#4849: while the coordinator still ends the previous transaction, it makes the client repeat the request to
      # register partitions. An abort overtakes that request and then meets the state of the previous transaction, which is
      # fatal for the client. The first report proves that one partition is registered; then an abort is answered correctly.
      # The flush sends lingering messages.
      def await_first_report
        client = @port.client.call
        deadline = @commands.deadline(@settings.wait_timeout_on_transaction_abort)
        until registered?(client) || deadline.expired?
          client.flush(deadline.wait_ms(LOOK_MS))
        end
      end

      # Also true if there is nothing to register: then no broker is asked to abort.
      def registered?(client)
        client.counts.first != @delivered || client.queue_size.zero?
      end

      # Whether the client itself has abandoned this transaction.
      def lost?(error)
        errors = [error, error&.cause].grep(KafkaError)
        errors.any? { |each| each.abortable? || each.fatal? } || !@port.client.call.fatal_error.nil?
      end

      # Allows listeners to produce again.
      def ended(how)
        @state = :none
        @last.fate = how.to_sym
        leave
        emit("transaction.#{how}")
        fence_unanswered if @unanswered
      end

      # A request to commit offsets that a frozen broker has not answered may be carried out after its transaction has ended, and
      # would then be a part of the next one. It is refused once the producer has a new epoch, which a new client gets.
      def fence_unanswered
        error = RetriableError.new("a request for offsets of the last transaction has no answer: the producer gets a new " \
          "client, so that they can't become a part of the next one", code: :timed_out, number: -185, retriable: true)
        @left.push(*@port.reload.call(error, 1))
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

      # Replaces a client that is lost. If an error can neither be retried nor aborted, the client is lost.
      def recover(error)
        @state = :none
        return unless @settings.reload_on_transaction_fatal_error && @reloads < @settings.max_attempts_on_transaction_fatal_error

        @outlived = open_too_long? unless @settings.reloadable?(error)
        return unless @outlived || @settings.reloadable?(error)

        @reloads += 1
        @left.push(*@port.reload.call(error, @reloads))
        @commands.pause(@settings.wait_backoff_on_transaction_fatal_error)
      end

      # The coordinator aborts a transaction that is open for too long; the producer gets the same error as a fenced one.
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

      def warn_of(text) = @settings.logger.warn("[#{@settings.id}] #{text}")

      def emit(event, **payload)
        @settings.monitor.instrument(event, {producer_id: @settings.id, **payload})
      end
    end
  end
end
