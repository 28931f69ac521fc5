# frozen_string_literal: true

require "penstock/errors"

# A client for which a test sets the answer to each call about a transaction. Records the calls in their order.
class FakeTransactions
  Error = Penstock::KafkaError

  CALLS = {init: :init_transactions, begin: :begin_transaction, offsets: :send_offsets_to_transaction,
           commit: :commit_transaction, abort: :abort_transaction}.freeze

  class << self
    def error(name, **flags)
      Error.build(number: -1, name: name, **flags)
    end

    def retriable = error("_TIMED_OUT", retriable: true)

    def abortable = error("GROUP_AUTHORIZATION_FAILED", abortable: true)

    def fatal = error("INVALID_TXN_STATE", fatal: true)

    def fenced = error("_FENCED", fatal: true)

    def unmarked = error("_STATE")
  end

  attr_reader :calls, :counts, :flushes, :given
  attr_accessor :queue_size, :fatal_error

  def initialize
    @answers = Hash.new { |answers, name| answers[name] = [] }
    @calls = []
    @counts = [0, 0]
    @queue_size = 0
    @flushes = []
    @given = []
    @on_flush = nil
  end

  # The next calls of this name raise these errors, one each; a Proc is called instead.
  def answer(name, *answers)
    @answers[name].concat(answers)
    self
  end

  # The block is called when the client flushes.
  def on_flush(&block)
    @on_flush = block
  end

  def flush(timeout_ms)
    @flushes << timeout_ms
    @on_flush&.call
  end

  def delivered
    @counts = [@counts.first + 1, 0]
    @queue_size -= 1
  end

  CALLS.each do |name, method|
    define_method(method) do |*given|
      @calls << name
      @given << given unless given.empty?
      answer = @answers[name].shift
      answer.respond_to?(:call) ? answer.call : (raise answer if answer)
    end
  end
end
