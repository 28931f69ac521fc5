# frozen_string_literal: true

require "test_helper"
require "penstock/processing/division/key_run"
require "penstock/processing/division/key_sequence"

module Penstock
  class KeySequenceTest < TestCase
    Record = Struct.new(:offset)
    Division = Processing::Division

    def setup
      super
      @runs = {}
      @sequence = Division::KeySequence.new(@runs)
    end

    def add(key, offset)
      run = @runs[key] ||= Division::KeyRun.new(key)
      run.add(Record.new(offset))
      @sequence.added(run) if run.messages.size == 1
    end

    def take(run = @sequence.first, count = 1)
      offsets = run.cut(count).map(&:offset)
      @sequence.taken(run)
      offsets
    end

    def take_all = [].tap { |all| all.concat(take) while @sequence.first }

    test "records are found in their order, whichever keys they have" do
      %w[a b a c b a].each_with_index { |key, offset| add(key, offset) }
      assert_equal [0, 1], [*take, *take]
      add("d", 6)
      add("b", 7)
      assert_equal [2, 3, 4, 5, 6, 7], take_all
      add("a", 8)
      assert_equal [8], take_all
    end

    test "records that come back are found again, and those of another key than the first one may be taken" do
      %w[a b a b].each_with_index { |key, offset| add(key, offset) }
      assert_equal "a", @sequence.first.key
      assert_equal [1, 3], take(@runs["b"], 2)
      assert_equal [0], take
      @runs["b"].put_back([Record.new(1)])
      @sequence.changed
      assert_equal [1, 2], take_all
      refute @sequence.below?(100)
    end

    test "it finds what a search through all keys finds" do
      random = Random.new(7)
      offset = 0
      2_000.times do
        case random.rand(4)
        when 0, 1 then add(random.rand(9), offset += 1)
        when 2 then take if @sequence.first
        else
          run = @runs.values.sample(random: random)
          take(run, random.rand(1..3)) if run && !run.messages.empty?
        end
        expected = @runs.values.flat_map { |run| run.messages.map(&:offset) }.min
        assert_equal [expected], [@sequence.first&.messages&.first&.offset]
        assert_equal !expected.nil?, @sequence.below?(offset + 1)
      end
    end
  end
end
