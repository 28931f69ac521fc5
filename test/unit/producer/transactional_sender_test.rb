# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/transactional_sender"

class ProducerTransactionalSenderTest < Penstock::TestCase
  TransactionalSender = Penstock::Producer::TransactionalSender

  def done(*handles)
    wait_until(40, "resolved handles") { handles.all?(&:done?) }
    handles.map(&:create_result)
  end

  test "messages that arrive while others are being sent are sent together after them" do
    batches = Queue.new
    go_on = Queue.new
    sender = TransactionalSender.new { |messages| (batches << messages) && go_on.pop && messages.map(&:upcase) }
    first = sender.take("a")
    assert_equal ["a"], batches.pop
    others = %w[b c].map { |message| sender.take(message) }

    refute_predicate first, :done?
    2.times { go_on << true }
    assert_equal %w[A B C], done(first, *others)
    assert_equal %w[b c], batches.pop
  end

  test "an error fails all messages that were sent together, and none after them" do
    fails = [true]
    sender = TransactionalSender.new { |messages| fails.pop ? raise(ArgumentError, "no") : messages }

    assert_kind_of ArgumentError, done(sender.take("a")).first.error
    assert_equal ["b"], done(sender.take("b"))
  end

  {"a lack of memory" => -> { raise NoMemoryError }, "a kill" => -> { Thread.current.kill }}.each do |what, ending|
    test "#{what} of its thread fails its messages and the waiting ones, and the next message is sent" do
      begun = Queue.new
      endings = [ending]
      sender = TransactionalSender.new { |messages| endings.empty? ? messages : begun.pop && endings.pop.call }
      handles = %w[a b].map { |message| sender.take(message) }
      begun << true

      assert(done(*handles).all?(TransactionalSender::Failure))
      assert_equal ["c"], done(sender.take("c"))
    end
  end

  test "a thread killed when it has no more messages fails none of its successor's" do
    at_its_end = Queue.new
    sending = Queue.new
    go_on = Queue.new
    sender = TransactionalSender.new { |messages| (messages == ["b"]) ? (sending << 1) && go_on.pop && messages : messages }
    sender.define_singleton_method(:next_handles) do |*own|
      super(*own) || ((at_its_end << Thread.current) && Queue.new.pop)
    end
    assert_equal ["a"], done(sender.take("a"))
    first = at_its_end.pop
    second = sender.take("b")
    sending.pop
    waiting = sender.take("c")
    first.kill.join

    refute_predicate second, :done?
    refute_predicate waiting, :done?
    go_on << 1
    assert_equal %w[b c], done(second, waiting)
  ensure
    go_on << 1
    at_its_end.pop.kill.join
  end

  test "a forked child starts its own thread" do
    begun = Queue.new
    sender = TransactionalSender.new { |messages| (messages == ["parent's"]) ? (begun << 1) && Queue.new.pop : messages }
    sender.take("parent's")
    begun.pop
    pid = fork do
      done(sender.take("child's"))
      exit!(0)
    ensure
      exit!(1)
    end

    assert_predicate ::Process.wait2(pid).last, :success?
  ensure
    sender.instance_variable_get(:@thread).kill.join
  end
end
