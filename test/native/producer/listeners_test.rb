# frozen_string_literal: true

require "test_helper"
require "penstock/testing/fatal_errors"
require "support/api_producing"

# A listener called by the client's own thread produces, while another thread replaces or closes that client: that thread holds
# no lock that the listener's call waits for.
class ProducerListenersTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  INVALID_EPOCH = 47
  SECONDS = 40

  def idempotent
    @sender ||= api(kafka: {"enable.idempotence": true}) do |config|
      config.reload_on_idempotent_fatal_error = true
      config.wait_backoff_on_idempotent_fatal_error = 0
    end
  end

  def transactional
    @sender ||= connected_api(kafka: {"transactional.id": "shop"}) do |config|
      config.wait_backoff_on_transaction_fatal_error = 0
    end
  end

  # The first event of the client's own thread blocks until the block of the test releases it.
  #
  # @return [Queue] results of the listener's call
  def hearing(sender, event)
    @inside = Queue.new
    @go_on = Queue.new
    heard = Queue.new
    answers = Queue.new
    sender.monitor.subscribe(event) do
      next unless Thread.current.name == "penstock.reporter" && heard.empty?

      heard << true
      @inside << (@reporter = Thread.current)
      @go_on.pop
      @gone_on = true
      answers << (yield || :nothing)
    rescue => error
      answers << error
    end
    answers
  end

  # The replacing thread continues once the listener's call waits.
  def let_go_on_while_reloading(sender)
    sender.monitor.subscribe("producer.reload") do
      @go_on << true
      wait_until(SECONDS, "a listener that waits") { asleep?(@reporter) }
    end
  end

  def asleep?(thread) = @gone_on && thread.status == "sleep"

  def refused(sender)
    sender.produce_async(thing)
    Penstock::Testing.inject_fatal_error(sender, INVALID_EPOCH, "a test")
    @inside.pop
    Thread.new { sender.produce_async(thing) }
  end

  def ended(thread, answers)
    assert thread.join(SECONDS), "deadlock: #{thread.backtrace&.first(4)} and #{@reporter.backtrace&.first(4)}"
    wait_until(SECONDS, "the listener's answer") { !answers.empty? }
    answers.pop
  end

  test "with an idempotent client that is replaced, the listener's message goes to the next client" do
    sender = idempotent
    answers = hearing(sender, "error.occurred") { sender.produce_async(thing("listener's")) }
    let_go_on_while_reloading(sender)

    assert_instance_of Penstock::Producer::Delivery::Handle, ended(refused(sender), answers)
  end

  test "a listener that waits for the thread that replaces its client is not waited for" do
    sender = idempotent
    done = Queue.new
    answers = hearing(sender, "error.occurred") { done.pop }
    thread = refused(sender)
    @go_on << true
    Thread.new { thread.join && done << :done }

    assert_equal :done, ended(thread, answers)
  end

  test "a listener of a lost transactional client runs after the transaction" do
    sender = transactional
    answers = hearing(sender, "message.acknowledged") { sender.produce_sync(thing("listener's")) }
    let_go_on_while_reloading(sender)
    thread = Thread.new { lose(sender) }

    assert_predicate ended(thread, answers), :delivered?
    assert_instance_of Penstock::FatalError, thread.value
  end

  test "a message of a listener of a disconnected transactional client goes to the next client" do
    sender = transactional
    answers = hearing(sender, "message.acknowledged") { sender.produce_sync(thing("listener's")) }
    sender.produce_sync(thing)
    @inside.pop
    wait_until(SECONDS, "a client without work") { sender.disconnectable? }
    Thread.new { wait_until(SECONDS, "a client put away") { sender.status.disconnected? } && @go_on << true }
    thread = Thread.new { sender.disconnect }

    assert_predicate ended(thread, answers), :delivered?
    assert thread.value
  end

  private

  # Its last report is emitted while the commit is refused.
  def lose(sender)
    sender.transaction do |transaction|
      transaction.produce_sync(thing)
      @inside.pop
      cluster.push_request_errors(:end_txn, [:invalid_txn_state])
    end
  rescue Penstock::FatalError => error
    error
  end
end
