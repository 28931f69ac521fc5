# frozen_string_literal: true

require "test_helper"
require "penstock/producer/courier"

class ProducerCourierTest < Penstock::TestCase
  Courier = Penstock::Producer::Courier

  def done(*handles)
    wait_until(40, "resolved handles") { handles.all?(&:done?) }
    handles.map(&:create_result)
  end

  test "what comes while others are on their way is sent together behind them" do
    batches = Queue.new
    go_on = Queue.new
    courier = Courier.new { |messages| (batches << messages) && go_on.pop && messages.map(&:upcase) }
    first = courier.take("a")
    assert_equal ["a"], batches.pop
    others = %w[b c].map { |message| courier.take(message) }

    refute_predicate first, :done?
    2.times { go_on << true }
    assert_equal %w[A B C], done(first, *others)
    assert_equal %w[b c], batches.pop
  end

  test "an error is that of all that were sent together, and of none behind" do
    fails = [true]
    courier = Courier.new { |messages| fails.pop ? raise(ArgumentError, "no") : messages }

    assert_kind_of ArgumentError, done(courier.take("a")).first.error
    assert_equal ["b"], done(courier.take("b"))
  end

  {"a lack of memory" => -> { raise NoMemoryError }, "a kill" => -> { Thread.current.kill }}.each do |what, ending|
    test "#{what} of its thread ends what it had and what waited, and the next message is sent" do
      begun = Queue.new
      endings = [ending]
      courier = Courier.new { |messages| endings.empty? ? messages : begun.pop && endings.pop.call }
      handles = %w[a b].map { |message| courier.take(message) }
      begun << true

      assert(done(*handles).all?(Courier::Failure))
      assert_equal ["c"], done(courier.take("c"))
    end
  end

  test "a thread that is killed when it has found nothing more ends nothing of the one behind it" do
    at_its_end = Queue.new
    sending = Queue.new
    go_on = Queue.new
    courier = Courier.new { |messages| (messages == ["b"]) ? (sending << 1) && go_on.pop && messages : messages }
    courier.define_singleton_method(:next_handles) do |*own|
      super(*own) || ((at_its_end << Thread.current) && Queue.new.pop)
    end
    assert_equal ["a"], done(courier.take("a"))
    first = at_its_end.pop
    second = courier.take("b")
    sending.pop
    waiting = courier.take("c")
    first.kill.join

    refute_predicate second, :done?
    refute_predicate waiting, :done?
    go_on << 1
    assert_equal %w[b c], done(second, waiting)
  ensure
    go_on << 1
    at_its_end.pop.kill.join
  end

  test "in a forked child its parent's thread is none" do
    begun = Queue.new
    courier = Courier.new { |messages| (messages == ["parent's"]) ? (begun << 1) && Queue.new.pop : messages }
    courier.take("parent's")
    begun.pop
    pid = fork do
      done(courier.take("child's"))
      exit!(0)
    ensure
      exit!(1)
    end

    assert_predicate ::Process.wait2(pid).last, :success?
  ensure
    courier.instance_variable_get(:@thread).kill.join
  end
end
