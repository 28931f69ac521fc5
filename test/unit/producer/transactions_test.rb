# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/settings"
require "penstock/producer/transactions"
require "support/fake_transactions"

class ProducerTransactionsTest < Penstock::TestCase
  Fake = FakeTransactions
  Transactions = Penstock::Producer::Transactions

  EVENTS = %w[transaction.started transaction.committed transaction.aborted transaction.finished error.occurred].freeze

  def setup
    @client = Fake.new
    @reloads = []
    @pauses = []
    @events = []
    @settings = Penstock::Producer::Settings.new
    @settings.kafka = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "t"}
    EVENTS.each { |name| @settings.monitor.subscribe(name) { |event| @events << event } }
  end

  def transactions
    @transactions ||= Transactions.new(@settings, port,
      commands: Penstock::Producer::TransactionCommands.new(@settings, pause: ->(delay_ms) { @pauses << delay_ms }))
  end

  def port
    reload = lambda do |error, attempt|
      @reloads << [error.code, attempt]
      @client = Fake.new
      nil
    end
    Transactions::Port.new(client: -> { @client }, reload: reload, sender: self)
  end

  def id = "tester"

  def told
    @events.map { |event| event.id.delete_prefix("transaction.") }
  end

  def errors
    @events.select { |event| event.id == "error.occurred" }
  end

  def error_rows
    errors.map { |event| [event[:type], event[:attempt], event[:retry]] }
  end

  # -- the sequence --

  test "a block is one transaction and its value is returned; the client is initialized once" do
    assert_equal [1, 2], [transactions.run { 1 }, transactions.run { 2 }]

    assert_equal %i[init begin commit begin commit], @client.calls
    assert_equal %w[started committed finished] * 2, told
  end

  test "the current transaction is set inside the block, in its fiber only, and not after it" do
    mine, elsewhere = transactions.run { |tx| [transactions.current.equal?(tx), Thread.new { transactions.current }.value] }

    assert_equal [true, nil, nil], [mine, elsewhere, transactions.current]
  end

  test "other threads wait for their turn" do
    inside = Queue.new
    go_on = Queue.new
    first = Thread.new { transactions.run { inside << 1 and go_on.pop } }
    inside.pop
    second = Thread.new { transactions.run { inside << 2 } }
    wait_until(5, "a waiting thread") { second.status == "sleep" }

    assert_empty inside
    go_on << true
    [first, second].each(&:join)
    assert_equal %i[init begin commit begin commit], @client.calls
  end

  # -- aborts --

  test "an error raised in the block aborts and is raised again" do
    assert_raises(ArgumentError) { transactions.run { raise ArgumentError } }

    assert_equal %i[init begin abort], @client.calls
    assert_equal %w[started aborted finished], told
  end

  test "[Transaction abort] AbortTransaction aborts and returns nil" do
    assert_nil(transactions.run { raise Penstock::AbortTransaction })
    assert_nil(transactions.run(&:abort))

    assert_equal %i[init begin abort begin abort], @client.calls
  end

  def returning = transactions.run { return 1 }

  def breaking = transactions.run { break 1 }

  def throwing = catch(:out) { transactions.run { throw :out } }

  test "[return in block] return, break and throw abort and raise" do
    %i[returning breaking throwing].each do |leaving|
      assert_raises(Penstock::EarlyTransactionExitNotAllowedError) { send(leaving) }
    end

    assert_equal %i[init begin abort begin abort begin abort], @client.calls
  end

  test "[Interrupt in block] exceptions that aren't StandardErrors abort as well" do
    assert_raises(Interrupt) { transactions.run { raise Interrupt } }
    assert_raises(SystemExit) { transactions.run { exit } }

    assert_equal %i[init begin abort begin abort], @client.calls
  end

  test "a killed thread aborts, and the next thread has its turn" do
    inside = Queue.new
    thread = Thread.new { transactions.run { inside << 1 and Queue.new.pop } }
    inside.pop
    thread.kill.join

    assert_equal 1, transactions.run { 1 }
    assert_equal %i[init begin abort begin commit], @client.calls
  end

  test "the block's error is raised even if the abort fails too" do
    @client.answer(:abort, Fake.fatal)
    assert_raises(ArgumentError) { transactions.run { raise ArgumentError } }

    assert_equal [["transaction.abort", 1, false]], error_rows
  end

  test "AbortTransaction returns nil only when the abort succeeded" do
    @client.answer(:abort, Fake.fatal)

    assert_raises(Penstock::FatalError) { transactions.run { raise Penstock::AbortTransaction } }
  end

  # -- the race --

  test "[Abort wait] an abort waits for the first report, so that it can't overtake the partitions' registration" do
    @client.on_flush { @client.delivered if @client.flushes.size == 3 }
    assert_raises(ArgumentError) { transactions.run { dispatch_and_fail } }

    assert_equal 3, @client.flushes.size
    assert_equal :abort, @client.calls.last
  end

  test "an abort doesn't wait if nothing was dispatched or a report has already come" do
    assert_nil(transactions.run(&:abort))
    transactions.run { |tx|
      @client.queue_size = 2
      @client.delivered
      tx.abort
    }

    assert_empty @client.flushes
  end

  test "an abort doesn't wait if the client has abandoned the transaction" do
    [Fake.abortable, Fake.fatal].each do |error|
      @client.queue_size = 1
      client = @client
      assert_raises(Penstock::KafkaError) { transactions.run { raise error } }
      assert_empty client.flushes
    end
  end

  test "an abort also waits after a refused message: others may be in flight" do
    @client.on_flush { @client.delivered }
    refusal = Fake.error("MSG_SIZE_TOO_LARGE")
    assert_raises(Penstock::KafkaError) { transactions.run { dispatch_and_fail(refusal) } }

    assert_equal 1, @client.flushes.size
  end

  test "the wait for the first report is limited" do
    @settings.wait_timeout_on_transaction_abort = 0
    assert_raises(ArgumentError) { transactions.run { dispatch_and_fail } }

    assert_empty @client.flushes
    assert_equal :abort, @client.calls.last
  end

  # -- commands that fail --

  test "a retriable error is retried with growing delays and reported each time" do
    @client.answer(:commit, Fake.retriable, Fake.retriable)

    assert_equal 1, transactions.run { 1 }
    assert_equal [500, 1_000], @pauses
    assert_equal [["transaction.commit", 1, true], ["transaction.commit", 2, true]], error_rows
  end

  test "an offset that the coordinator doesn't accept is reported each time; if it never does, the transaction is aborted" do
    @client.answer(:offsets, Fake.error("COORDINATOR_LOAD_IN_PROGRESS", retriable: true), nil, Fake.abortable)
    offsets = -> { transactions.send_offsets([["orders", 0, 7]], :group) }

    assert_equal 1, transactions.run { offsets.call.then { 1 } }
    assert_raises(Penstock::KafkaError) { transactions.run { offsets.call } }
    assert_equal %i[init begin offsets offsets commit begin offsets abort], @client.calls
    assert_equal [["transaction.store_offset", 1, true], ["transaction.store_offset", 1, false]], error_rows
    assert_equal [[@settings.id, :coordinator_load_in_progress], [@settings.id, :group_authorization_failed]],
      errors.map { |event| [event[:producer_id], event[:error].code] }
  end

  test "an unanswered commit is unknown and is repeated before the next transaction begins" do
    @client.answer(:commit, *Array.new(5) { Fake.retriable })
    error = assert_raises(Penstock::WaitTimeoutError) { transactions.run { 1 } }
    assert_equal :timed_out, error.cause.code

    transactions.run { 2 }
    assert_equal [:init, :begin, *[:commit] * 6, :begin, :commit], @client.calls
    assert_equal %w[started finished committed started committed finished], told.grep_v("error.occurred")
  end

  test "no transaction begins while the end of another is unknown" do
    @client.answer(:commit, *Array.new(10) { Fake.retriable })

    2.times { assert_raises(Penstock::WaitTimeoutError) { transactions.run { 1 } } }
    assert_equal 1, @client.calls.count(:begin)
  end

  test "an unanswered abort is repeated before the next transaction begins" do
    @client.answer(:abort, *Array.new(5) { Fake.retriable })
    assert_raises(ArgumentError) { transactions.run { raise ArgumentError } }

    transactions.run { 1 }
    assert_equal [:init, :begin, *[:abort] * 6, :begin, :commit], @client.calls
  end

  test "an abortable error aborts once and is raised" do
    @client.answer(:commit, Fake.abortable)
    error = assert_raises(Penstock::KafkaError) { transactions.run { 1 } }

    assert_predicate error, :abortable?
    assert_equal %i[init begin commit abort], @client.calls
    assert_equal %w[started aborted finished], told.grep_v("error.occurred")
    assert_empty @reloads
  end

  test "an abort is never followed by another abort of its own" do
    @client.answer(:commit, Fake.abortable).answer(:abort, Fake.abortable)
    client = @client
    assert_raises(Penstock::KafkaError) { transactions.run { 1 } }

    assert_equal 1, client.calls.count(:abort)
    assert_equal 1, @reloads.size
  end

  test "an error from outside during a commit leaves it unknown, and the commit is repeated" do
    @client.answer(:commit, -> { raise Interrupt })
    assert_raises(Interrupt) { transactions.run { 1 } }

    transactions.run { 2 }
    assert_equal %i[init begin commit commit begin commit], @client.calls
  end

  # -- interrupts between a client's answer and its storage here --

  test "an interrupt right after a begin leaves no transaction open, and one right before it makes no call" do
    @client.answer(:begin, -> { raise Interrupt }, -> { raise Interrupt }).answer(:abort, nil, Fake.unmarked)
    2.times { assert_raises(Interrupt) { transactions.run { flunk } } }

    transactions.run { 1 }
    assert_equal %i[init begin abort begin abort begin commit], @client.calls
    assert_equal %w[finished finished started committed finished], told
    assert_empty @reloads
  end

  test "an interrupt right after a commit, an abort or the first call has no effect on later transactions" do
    @client.answer(:init, -> { raise Interrupt }, Fake.unmarked).answer(:commit, -> { raise Interrupt }, Fake.unmarked)
      .answer(:abort, -> { raise Interrupt }, Fake.unmarked)
    2.times { assert_raises(Interrupt) { transactions.run { 1 } } }
    assert_raises(Interrupt) { transactions.run { raise ArgumentError } }

    assert_equal 1, transactions.run { 1 }
    assert_equal %w[started finished committed started finished aborted started committed finished], told
    assert_empty @reloads
  end

  # -- errors that end the client --

  test "a fatal error is raised after the client was replaced, and the new one is initialized before use" do
    lost = @client.answer(:commit, Fake.fatal)
    assert_raises(Penstock::FatalError) { transactions.run { 1 } }

    assert_equal [[:invalid_txn_state, 1]], @reloads
    assert_equal [1_000], @pauses
    transactions.run { 2 }
    assert_equal %i[init begin commit], lost.calls
    assert_equal %i[init begin commit], @client.calls
  end

  test "an error without any mark counts as fatal" do
    @client.answer(:begin, Fake.unmarked)
    assert_raises(Penstock::KafkaError) { transactions.run { 1 } }

    assert_equal [[:state, 1]], @reloads
  end

  test "a client that can't be initialized is replaced, or initialized again" do
    @client.answer(:init, Fake.retriable, Fake.fatal)
    assert_raises(Penstock::FatalError) { transactions.run { 1 } }

    assert_equal [["transaction.init", 1, true], ["transaction.init", 2, false]], error_rows
    assert_equal 2, transactions.run { 2 }
  end

  test "[Fenced] a fenced producer keeps its client, and every transaction raises the error" do
    @client.answer(:commit, Fake.fenced).answer(:begin, nil, Fake.fenced)
    2.times { assert_raises(Penstock::FencedError) { transactions.run { 1 } } }

    assert_empty @reloads
  end

  test "a commit that times out because of an undelivered message is aborted and not repeated" do
    @client.answer(:commit, Fake.error("_TIMED_OUT", retriable: true, abortable: true))
    kept = nil
    assert_raises(Penstock::RetriableError) { transactions.run { |transaction| kept = transaction } }

    assert_equal [%i[init begin commit abort], :aborted, []], [@client.calls, kept.fate, @pauses]
    assert_equal 1, transactions.run { 1 }
  end

  test "a fenced client is replaced if the setting allows it" do
    @settings.non_reloadable_errors = []
    @client.answer(:commit, Fake.fenced)
    assert_raises(Penstock::FencedError) { transactions.run { 1 } }

    assert_equal [[:fenced, 1]], @reloads
  end

  test "without the setting no client is replaced" do
    @settings.reload_on_transaction_fatal_error = false
    @client.answer(:commit, Fake.fatal)
    assert_raises(Penstock::FatalError) { transactions.run { 1 } }

    assert_empty @reloads
  end

  test "[Reload limit] clients are replaced up to the limit between two commits" do
    @settings.max_attempts_on_transaction_fatal_error = 2
    3.times do
      @client.answer(:begin, Fake.fatal)
      assert_raises(Penstock::FatalError) { transactions.run { 1 } }
    end
    assert_equal [1, 2], @reloads.map(&:last)

    transactions.run { 1 }
    @client.answer(:begin, Fake.fatal)
    assert_raises(Penstock::FatalError) { transactions.run { 1 } }
    assert_equal [1, 2, 1], @reloads.map(&:last)
  end

  # -- the end --

  test "shut lets the running transaction end, and no other begin" do
    inside = Queue.new
    go_on = Queue.new
    first = Thread.new { transactions.run { inside << 1 and go_on.pop } }
    inside.pop
    closer = Thread.new { transactions.shut(Penstock::Deadline.in(10_000)) }
    wait_until(5, "a waiting thread") { closer.status == "sleep" }

    assert_raises(Penstock::ProducerClosedError) { quietly { transactions.run { 1 } }.value }
    go_on << true
    [first, closer].each(&:join)
    assert_equal %i[init begin commit], @client.calls
  end

  test "shut repeats a call that wasn't answered" do
    @client.answer(:commit, *Array.new(5) { Fake.retriable })
    assert_raises(Penstock::WaitTimeoutError) { transactions.run { 1 } }
    transactions.shut(Penstock::Deadline.in(1_000))

    assert_equal 6, @client.calls.count(:commit)
  end

  private

  def quietly(&block)
    Thread.new(&block).tap { |thread| thread.report_on_exception = false }
  end

  def dispatch_and_fail(error = ArgumentError)
    @client.queue_size = 1
    raise error
  end
end
