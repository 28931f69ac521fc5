# frozen_string_literal: true

require "test_helper"
require "support/admission"
require "penstock/lint"
require "penstock/processing/admission/prepare"
require "penstock/processing/filters/base"

module Penstock
  class LintTest < TestCase
    include TestSupport::Admission

    # Returns what the test sets.
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

    test "an object that isn't a filter is reported with all missing methods" do
      text = assert_raises(Lint::Violation) { Lint::Filter.new(Object.new) }.message
      assert_match(/has no apply!, applied\?, action, timeout, cursor: inherit from Penstock::Filter/, text)
    end

    test "a filter that adds, duplicates or moves messages is reported" do
      [->(list) { list.reverse! }, ->(list) { list << list.first }, ->(list) { list[0] = list[1] }].each do |change|
        assert_match(/only delete/, violation { |list| change.call(list) })
      end
    end

    test "a filter's requests must be possible" do
      assert_match(/returns :wait from action/, violation(action: :wait))
      assert_match(/returns 1 from applied\?/, violation(applied: 1))
      assert_match(/returns "5" from timeout/, violation(action: :pause, timeout: "5"))
      assert_match(/seeks without a cursor/, violation(action: :seek))
    end

    test "a pause without a cursor after deletions, or at a message of another batch, is reported" do
      assert_match(/what it deleted is dropped/, violation(action: :pause, timeout: 5) { |list| list.pop })
      old = Struct.new(:offset).new(77)
      assert_match(/wasn't given \(offset 77\)/, violation(action: :pause, timeout: 5, cursor: old))
    end

    test "a pause with the route's own time is checked like any other" do
      assert_match(/what it deleted is dropped/, violation(action: :pause) { |list| list.pop })
    end

    test "requests of a filter that wasn't applied are ignored" do
      filter = Lint::Filter.new(Scripted.new(applied: false, action: :seek))
      assert_nil filter.apply!(messages("a"))
    end

    test "a factory makes a new filter for each partition" do
      one = Scripted.new
      factory = Lint::FilterFactory.new(->(_topic, _partition) { one })
      assert_instance_of Lint::Filter, factory.call(:topic, 0)
      assert_match(/same .*Scripted twice/, assert_raises(Lint::Violation) { factory.call(:topic, 1) }.message)
    end

    test "a partitioner always returns the same key for a message, and one that other messages can have too" do
      message = messages("a").first
      assert_equal "a", Lint::Partitioner.new(:raw_key.to_proc).call(message)
      {/two different keys/ => ->(_) { Object.new }, /a Float/ => ->(_) { 1.5 }, /message itself/ => ->(given) { given }}
        .each do |text, partitioner|
          assert_match text, assert_raises(Lint::Violation) { Lint::Partitioner.new(partitioner).call(message) }.message
        end
    end

    test "a reducer always returns the same, valid slot" do
      assert_equal 1, Lint::Reducer.new(->(key) { key % 2 }, 2).call(3)
      count = 0
      [->(_) { 2 }, ->(_) { -1 }, ->(_) { "0" }, ->(_) { (count += 1) % 2 }].each do |reducer|
        assert_raises(Lint::Violation) { Lint::Reducer.new(reducer, 2).call(1) }
      end
    end

    test "a wrapped filter that breaks its contract loses nothing: the records are delivered again" do
      factory = Lint::FilterFactory.new(->(_topic, _partition) { Scripted.new(action: :seek) })
      prepare = Processing::Admission::Prepare.for(route(filter: [filter(factory)]), topic_name: "orders", partition: 0,
        backoff: backoff)
      prepared = prepare.call(keyed("a"), 0)
      assert_instance_of Lint::Violation, prepared.error
      assert_equal [0], prepared.rest.offsets
    end
  end
end
