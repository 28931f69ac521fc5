# frozen_string_literal: true

require_relative "printable"

# Runs Ruby code on the records of Apache Kafka: many threads, many processes, in order, nothing lost.
module Penstock
  # Tags every error Penstock raises, so `rescue Penstock::Error` catches all of them, even if they inherit from different
  # classes. The classes are named by what the caller can do about them, not by where they come from.
  module Error
  end

  # One problem of a configuration: where it is, what is wrong, and how to fix it.
  #
  # `path` is the place as the user wrote it (`"config.concurrency"`, `"routes: topic orders"`), `message` a sentence without
  # the place, `hint` how to fix it, or nil.
  Problem = Struct.new(:path, :message, :hint) do
    def initialize(path, message, hint = nil)
      super
      freeze
    end

    # @return [String] one line: place, what is wrong, how to fix it
    def to_s
      [("#{path}: " if path), message, (". #{hint}" if hint)].join
    end
  end

  # The setup or the routes cannot be used. Raised before any connection is opened, with all problems at once, so that one run
  # shows all of them. The process exits with code 1.
  class ConfigurationError < StandardError
    include Error

    # @return [Array<Problem>] all problems found, in the order of the configuration
    attr_reader :problems

    # @param problems [Array<Problem>, Problem, String]
    def initialize(problems = [])
      @problems = Array(problems.is_a?(Struct) ? [problems] : problems).map do |problem|
        problem.is_a?(Problem) ? problem : Problem.new(nil, problem.to_s)
      end.freeze
      super(describe)
    end

    private

    def describe
      return @problems.first.to_s if @problems.one?

      lines = @problems.each_with_index.map { |problem, index| "  #{index + 1}. #{problem}" }
      ["The configuration has #{@problems.size} problems:", *lines].join("\n")
    end
  end

  # There is no boot file at the places searched. The message lists them.
  class MissingBootFileError < StandardError
    include Error
  end

  # Kafka or its client library returned an error. {KafkaError.build} picks the subclass by what can be done: {RetriableError}
  # (the same call may succeed later), {FatalError} (this client is lost and must be re-created), {FencedError} (another client
  # has taken this one's place).
  class KafkaError < StandardError
    include Error

    # Error names which mean that another client has taken over this client's identity.
    FENCED = %i[fenced producer_fenced fenced_instance_id unreleased_instance_id].freeze

    # @return [Symbol] the client library's name of the error, downcased, without a leading underscore: `:timed_out`
    attr_reader :code
    # @return [Integer] its number: above zero from a broker, below zero from the client library
    attr_reader :number
    # @return [String, nil] the text of the broker or the client library
    attr_reader :broker_message

    class << self
      # @param number [Integer] error number
      # @param name [String, Symbol] name as the client library writes it (`"_TRANSPORT"`)
      # @param message [String, nil] text of the broker or the library
      # @return [KafkaError] of the subclass that fits
      def build(number:, name:, message: nil, fatal: false, retriable: false, abortable: false)
        code = code_of(name)
        class_for(code, fatal, retriable)
          .new(message, code: code, number: number, fatal: fatal, retriable: retriable, abortable: abortable)
      end

      # @return [Symbol] `"_MSG_TIMED_OUT"` becomes `:msg_timed_out`
      def code_of(name)
        name.to_s.delete_prefix("_").downcase.to_sym
      end

      private

      def class_for(code, fatal, retriable)
        return QueueFullError if code == :queue_full
        return FencedError if FENCED.include?(code)
        return FatalError if fatal

        retriable ? RetriableError : KafkaError
      end
    end

    def initialize(message = nil, code: :unknown, number: -1, fatal: false, retriable: false, abortable: false)
      @code = code
      @number = number
      message &&= Printable.utf8(message.to_s) # it may contain a broker's text
      @broker_message = message
      @fatal = fatal
      @retriable = retriable
      @abortable = abortable
      super([message, "(#{code})"].compact.join(" "))
    end

    # @return [Boolean] the client that raised it can't be used any more
    def fatal?
      @fatal
    end

    # @return [Boolean] the same call may succeed later
    def retriable?
      @retriable
    end

    # @return [Boolean] the open transaction must be aborted, then a new one may begin
    def abortable?
      @abortable
    end
  end

  # The same call may succeed later.
  class RetriableError < KafkaError
  end

  # The client is lost: close it and open another one.
  class FatalError < KafkaError
  end

  # Another client with the same identity (transactional id or static member id) has taken over. Don't reopen at once: the two
  # would take it from each other in turns.
  class FencedError < FatalError
  end

  # A transaction was open for longer than `transaction.timeout.ms`, so the coordinator has aborted it. None of it is visible;
  # it may be run again. The producer has a new client.
  class TransactionTimeoutError < RetriableError
  end

  # The producer's queue holds as many messages as it may. Wait for deliveries, then produce again.
  class QueueFullError < KafkaError
    def initialize(message = "the producer's queue is full", code: :queue_full, number: -184, retriable: true, **rest)
      super
    end
  end

  # A wait reached its time limit. The awaited event may still happen: its outcome is unknown, not failed.
  class WaitTimeoutError < StandardError
    include Error
  end

  # A handle was used in a process that didn't open it. Handles don't survive `fork`: open a new one in the child.
  class ForkedHandleError < StandardError
    include Error
  end

  # A handle was used after it had been closed.
  class HandleClosedError < StandardError
    include Error
  end

  # A message given to the producer can't be sent: the text shows which part is wrong. Nothing was sent.
  class MessageInvalidError < StandardError
    include Error

    # @return [Integer, nil] its place in the list of messages, from 0
    attr_accessor :index
  end

  # The payload of a message is larger than the producer's `max_payload_size`. Nothing was sent.
  class MessageTooLargeError < MessageInvalidError
  end

  # The producer was used after `close`.
  class ProducerClosedError < HandleClosedError
  end

  # A message was not delivered. `cause` holds the {KafkaError}.
  class ProduceError < StandardError
    include Error

    # @return [String, nil] topic the message was meant for
    attr_reader :topic
    # @return [Symbol, nil] code of the {KafkaError} that caused it
    attr_reader :code

    def initialize(message = nil, topic: nil, code: nil)
      @topic = topic
      @code = code
      super(message || "the message was not delivered")
    end
  end

  # A delayed message couldn't be moved on: the text shows why. Where the reason is the message or its target, the message goes
  # to the dead letters; otherwise it is tried again.
  class DelayError < StandardError
    include Error
  end

  # Only some of the messages were accepted.
  class ProduceManyError < ProduceError
    # @return [Array] delivery handles of the messages accepted before the error, in their order
    attr_reader :dispatched

    def initialize(message = nil, dispatched: [], topic: nil, code: nil)
      @dispatched = dispatched
      super(message || "only #{dispatched.size} messages were accepted", topic: topic, code: code)
    end
  end

  # No producer of a pool became free in time. Nothing was done: try again, or make the pool larger.
  class PoolTimeoutError < StandardError
    include Error
  end

  # The settings of a producer's variant can't be used; the message shows which, and why.
  class VariantInvalidError < ConfigurationError
  end

  # A listener was subscribed to statistics of a client that was created without them.
  class StatisticsNotEnabledError < StandardError
    include Error
  end

  # A transaction was requested from a producer without `transactional.id`.
  class ProducerNotTransactionalError < StandardError
    include Error
  end

  # A method that only makes sense inside a transaction was called outside of one, or in a fiber or thread that blocks its end.
  class TransactionRequiredError < StandardError
    include Error
  end

  # The object to be marked as consumed in a transaction isn't a record with topic, partition and offset, or the consumer is
  # missing.
  class TransactionalOffsetInvalidError < StandardError
    include Error
  end

  # A producer can't be closed inside of its own transaction: leave the block first.
  class ProducerTransactionalCloseAttemptError < StandardError
    include Error
  end

  # The block of a transaction was left by `return`, `break` or `throw`, which doesn't show whether to commit it: it was
  # aborted.
  class EarlyTransactionExitNotAllowedError < StandardError
    include Error

    def initialize(message = "the block of a transaction was left by return, break or throw: it was aborted. Leave it by its " \
                             "end to commit, by `raise Penstock::AbortTransaction` to abort. (Timeout.timeout without an " \
                             "error class leaves it by throw, too: pass one)")
      super
    end
  end

  # Raise it inside a transaction to abort it: `transaction` returns nil then.
  class AbortTransaction < StandardError
    include Error
  end

  # An event that isn't in the closed list was instrumented or subscribed to.
  class UnknownEventError < StandardError
    include Error
  end

  # The command line was called with a command that doesn't exist.
  class UnknownCommandError < StandardError
    include Error
  end

  # A payload, key or header could not be deserialized. This is an error of that record alone; its raw bytes are unchanged.
  # `cause` is the deserializer's error.
  class DeserializationError < StandardError
    include Error

    # The text of the cause may quote the payload, which doesn't belong in a log at full length.
    QUOTED = 100

    # @return [String] topic of the record
    attr_reader :topic
    # @return [Integer] partition of the record
    attr_reader :partition
    # @return [Integer] offset of the record
    attr_reader :offset
    # @return [Symbol] `:payload`, `:key` or `:headers`
    attr_reader :part

    # @param topic [String]
    # @param partition [Integer]
    # @param offset [Integer]
    # @param part [Symbol] `:payload`, `:key` or `:headers`
    # @param reason [Exception, String, nil] the deserializer's error
    def initialize(topic:, partition:, offset:, part: :payload, reason: nil)
      @topic = topic
      @partition = partition
      @offset = offset
      @part = part
      place = "#{topic}/#{partition} at offset #{offset}"
      super([place, "the #{part} can't be deserialized", quote(reason)].compact.join(": "))
    end

    private

    def quote(reason)
      Printable.error(reason, QUOTED) if reason
    end
  end

  # The payload of a message was read after `clean!` had freed it.
  class MessageClearedError < StandardError
    include Error
  end

  # A partition has no record at or after the requested time.
  class InvalidTimeBasedOffsetError < StandardError
    include Error
  end

  # Raised by user code to stop the process: the record isn't retried, skipped or dead-lettered, its offset stays where it was,
  # and the next owner gets it again.
  class CriticalError < StandardError
    include Error
  end

  # Raised inside user code that still runs when a stop has used up its time. It is not a StandardError and carries no {Error}
  # tag, so that no `rescue => error` in user code handles a stop as a failure; `ensure` runs as always.
  class Interrupted < Exception # rubocop:disable Lint/InheritException -- see above: `rescue => error` must not catch it
    def initialize(message = "the process stops and the time for this job has run out")
      super
    end
  end

  # Raised inside a call of `consume` that takes longer than its route's `time_limit`. It counts as the failure of the current
  # record: retried, dead-lettered. Like {Interrupted} it is not a StandardError, so that no `rescue => error` in user code
  # continues as if nothing had happened.
  class TimeLimitExceeded < Exception # rubocop:disable Lint/InheritException -- see above
    # @param topic [String]
    # @param partition [Integer]
    # @param limit_ms [Integer]
    def initialize(message = nil, topic: nil, partition: nil, first_offset: nil, last_offset: nil, limit_ms: nil)
      super(message || "a call of consume for #{topic}/#{partition} offsets #{first_offset}..#{last_offset} takes longer " \
                       "than its time_limit of #{limit_ms} ms")
    end
  end

  # A strategy for dead letters returned something else than `:retry`, `:dispatch`, …; or middleware didn't yield.
  class UnsupportedCaseError < StandardError
    include Error
  end

  # A record is dead-lettered without being run: each time it ran alone, the process died.
  class QuarantinedError < StandardError
    include Error

    # @return [Integer]
    attr_reader :crashes

    # @param crashes [Integer] how often the process died with it
    def initialize(message = nil, crashes: 0)
      @crashes = crashes
      super(message || "the process died #{crashes} times while this record ran alone")
    end
  end

  # A take from a lane doesn't continue where the last one ended. Nothing is lost: the lane seeks to the expected offset.
  class LaneDiscontinuity < StandardError
    include Error

    # @return [String]
    attr_reader :topic
    # @return [Integer]
    attr_reader :partition
    # @return [Integer] offset at which the take should have begun
    attr_reader :expected
    # @return [Integer] offset at which it began
    attr_reader :actual

    def initialize(message = nil, topic: nil, partition: nil, expected: nil, actual: nil)
      @topic = topic
      @partition = partition
      @expected = expected
      @actual = actual
      super(message || "#{topic}/#{partition}: a take began at offset #{actual}, expected was #{expected}")
    end
  end

  # An invariant of Penstock is broken. Please report it together with the text and the dump.
  class InternalError < StandardError
    include Error
  end
end
