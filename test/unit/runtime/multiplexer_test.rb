# frozen_string_literal: true

require "test_helper"
require "support/virtual_clock"
require "penstock/routing/features/multiplexing"
require "penstock/runtime/multiplexer"
require "penstock/runtime/threads"

module Penstock
  class MultiplexerTest < TestCase
    Group = Struct.new(:name, :consumer_group_id, :multiplexing, :connection) do
      def on_connection(number) = dup.tap { |copy| copy.connection = number }
    end
    # A loop whose partitions the test sets.
    Loop = Struct.new(:group, :assignment_state, :finished) do
      alias_method :finished?, :finished
    end

    def setup
      @now = 0
      @events = Thread::Queue.new
      @changes = Thread::Queue.new
      @made = []
    end

    def monotonic_ms = @now
    def emit(name, payload) = @events << [name, payload[:subscription_group].name, payload[:connections]]

    def multiplexer(*groups)
      make = ->(group) { Loop.new(group, [1, true], false).tap { |made| @made << made } }
      @multiplexer = Runtime::Multiplexer.new(clock: self, reporter: self, make: make)
      groups.map { |group| @multiplexer.loops(group) }
    end

    def group(name, min: 1, max: 3, boot: min, delay: 200) =
      Group.new(name, "cg", Routing::Multiplexing.new(min, max, boot, delay))

    def watching
      threads = Runtime::Threads.new(->(_name, error) { raise error })
      thread = @multiplexer.watch(threads) { |change| @changes << change }
      yield
    ensure
      @multiplexer.close
      thread&.join
    end

    # Time passes while a change is awaited.
    def change
      wait_until(5, "a change") do
        @now += 20
        !@changes.empty?
      end
      @changes.pop.then { |change| [change.direction, change.poll_loop.group.name, change.poll_loop.group.connection] }
    end

    def pass_looks(each_ms = 400)
      3.times { observe_for(0.06).then { @now += each_ms } }
    end

    test "a group has the configured loops: one, a fixed number, or the number it starts with" do
      plain = Group.new("plain", "cg", nil)
      loops = multiplexer(plain, group("fixed", min: 2, max: 2), group("dynamic", boot: 2))

      assert_equal [[nil], [0, 1], [0, 1]], loops.map { |some| some.map { |each| each.group.connection } }
      assert @multiplexer.dynamic?
      multiplexer(group("fixed", min: 2, max: 2))
      refute @multiplexer.dynamic?
      assert_nil(@multiplexer.watch(nil) {})
    end

    test "a loop is requested where one has several partitions, and ended where it has none" do
      (first,), = multiplexer(group("g"))
      first.assignment_state = [2, true]
      watching do
        assert_equal [:up, "g", 1], change
        first.assignment_state, @made.last.assignment_state = [1, true], [0, true]
        assert_equal [:down, "g", 1], change
        first.assignment_state = [3, true]
        pass_looks
        assert_empty @changes
        @made.last.finished = true
        assert_equal [:up, "g", 1], change
      end
      assert_equal [["multiplexing.up", "g", 2], ["multiplexing.down", "g", 1], ["multiplexing.up", "g", 2]],
        Array.new(3) { @events.pop }
    end

    test "two groups of the same members take turns, one change per delay" do
      loops = multiplexer(group("a"), group("b")).flatten
      loops.each { |each| each.assignment_state = [2, true] }
      watching do
        one = change
        pass_looks(0)
        assert_empty @changes
        assert_equal %w[a b], [one, change].map { |_direction, name, _number| name }.sort
      end
    end
  end
end
