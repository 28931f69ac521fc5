# frozen_string_literal: true

require "test_helper"
require "support/admission"
require "penstock/lint"
require "penstock/processing/admission/prepare"
require "penstock/processing/filters/base"

module Penstock
  class LintTest < TestCase
    include TestSupport::Admission

    # Says what it is told to say.
    class Scripted < Filter
      def initialize(applied: true, action: :skip, timeout: nil, cursor: nil, &apply)
        super()
        @applied, @action, @timeout, @cursor, @apply = applied, action, timeout, cursor, apply
      end

      attr_reader :action, :timeout

      def apply!(messages) = @apply&.call(messages)
    end

    def messages(*keys) = keyed(*keys).to_a

    def violation(...)
      assert_raises(Lint::Violation) { Lint::Filter.new(Scripted.new(...)).apply!(messages("a", "b", "c")) }.message
    end

    test "a filter that keeps its contract works as without its wrapper" do
      given = messages("a", "b")
      filter = Lint::Filter.new(Scripted.new(action: :pause, timeout: 5, cursor: given[1]) { |list| list.pop })
      filter.apply!(given)
      assert_equal [1, true, :pause, 5, 1], [given.size, filter.applied?, filter.action, filter.timeout, filter.cursor.offset]
    end

    test "what isn't a filter is told with all it lacks" do
      text = assert_raises(Lint::Violation) { Lint::Filter.new(Object.new) }.message
      assert_match(/has no apply!, applied\?, action, timeout, cursor: inherit from Penstock::Filter/, text)
    end

    test "a filter that adds, doubles or moves messages is told" do
      [->(list) { list.reverse! }, ->(list) { list << list.first }, ->(list) { list[0] = list[1] }].each do |change|
        assert_match(/only delete/, violation { |list| change.call(list) })
      end
    end

    test "what a filter asks for must be something that can be done" do
      assert_match(/answers :wait to action/, violation(action: :wait))
      assert_match(/answers 1 to applied\?/, violation(applied: 1))
      assert_match(/answers "5" to timeout/, violation(action: :pause, timeout: "5"))
      assert_match(/seeks without a cursor/, violation(action: :seek))
    end

    test "a pause without a cursor drops what was deleted, and one at a message of another batch is an old one" do
      assert_match(/what it deleted is dropped/, violation(action: :pause, timeout: 5) { |list| list.pop })
      old = Struct.new(:offset).new(77)
      assert_match(/wasn't given \(offset 77\)/, violation(action: :pause, timeout: 5, cursor: old))
    end

    test "a pause at the route's own time is looked at like any other" do
      assert_match(/what it deleted is dropped/, violation(action: :pause) { |list| list.pop })
    end

    test "what a filter that wasn't applied would ask for doesn't matter" do
      filter = Lint::Filter.new(Scripted.new(applied: false, action: :seek))
      assert_nil filter.apply!(messages("a"))
    end

    test "a factory makes a new filter for each partition" do
      one = Scripted.new
      factory = Lint::FilterFactory.new(->(_topic, _partition) { one })
      assert_instance_of Lint::Filter, factory.call(:topic, 0)
      assert_match(/same .*Scripted twice/, assert_raises(Lint::Violation) { factory.call(:topic, 1) }.message)
    end

    test "a partitioner answers one key for a message, and one that others can have too" do
      message = messages("a").first
      assert_equal "a", Lint::Partitioner.new(:raw_key.to_proc).call(message)
      {/two different keys/ => ->(_) { Object.new }, /a Float/ => ->(_) { 1.5 }, /message itself/ => ->(given) { given }}
        .each do |text, partitioner|
          assert_match text, assert_raises(Lint::Violation) { Lint::Partitioner.new(partitioner).call(message) }.message
        end
    end

    test "a reducer answers a slot there is, the same each time" do
      assert_equal 1, Lint::Reducer.new(->(key) { key % 2 }, 2).call(3)
      count = 0
      [->(_) { 2 }, ->(_) { -1 }, ->(_) { "0" }, ->(_) { (count += 1) % 2 }].each do |reducer|
        assert_raises(Lint::Violation) { Lint::Reducer.new(reducer, 2).call(1) }
      end
    end

    test "a watched filter that breaks its contract loses nothing: the records come again" do
      factory = Lint::FilterFactory.new(->(_topic, _partition) { Scripted.new(action: :seek) })
      prepare = Processing::Admission::Prepare.for(route(filter: [filter(factory)]), topic_name: "orders", partition: 0,
        backoff: backoff)
      prepared = prepare.call(keyed("a"), 0)
      assert_instance_of Lint::Violation, prepared.error
      assert_equal [0], prepared.rest.offsets
    end
  end
end
