# frozen_string_literal: true

require "test_helper"
require "penstock/cli/dead/handled"

module Penstock
  # Which dead letters were handled: read from, and written to, the commits of a group of its own.
  class DeadHandledTest < TestCase
    Letter = Struct.new(:partition, :offset)
    # Answers with committed offsets, and remembers for which group it was asked.
    Admin = Struct.new(:rows, :asked) do
      def read_committed_offsets(group, places, stable:)
        self.asked = [group, places, stable]
        rows
      end
    end
    # Remembers the commits, or raises.
    Writer = Struct.new(:calls, :error) do
      def call(group, rows)
        raise error if error
        calls << [group, rows]
      end
    end

    def handled(bounds, *rows) = CLI::Dead::Handled.new(@admin = Admin.new(rows), "dead", bounds)

    def listed(handled, partition, offsets) = offsets.reject { |offset| handled.include?(Letter.new(partition, offset)) }

    def saved(handled, error: nil)
      writer = Writer.new([], error)
      handled.save(writer)
      writer.calls.flat_map { |_group, rows| rows }
    end

    # The row that a later command reads.
    def as_read(row) = {topic: row[0], partition: row[1], offset: row[2], metadata: row[3]}

    test "without a commit nothing was handled" do
      assert_equal [3, 4, 5], listed(handled({0 => [3, 6]}), 0, [3, 4, 5])
      assert_equal ["penstock-dead", {"dead" => [0]}, true], @admin.asked
    end

    test "handled letters are found again by the next command, also those with gaps between them" do
      first = handled({0 => [3, 9], 1 => [0, 4]})
      [[0, 3], [0, 4], [0, 7], [1, 2]].each { |place| first.add(Letter.new(*place)) }
      rows = saved(first)
      assert_equal [["dead", 0, 5], ["dead", 1, 0]], rows.map { |row| row.first(3) }
      again = handled({0 => [3, 9], 1 => [0, 4]}, *rows.map { |row| as_read(row) })
      assert_equal [[5, 6, 8], [0, 1, 3]], [listed(again, 0, 3..8), listed(again, 1, 0..3)]
    end

    test "only partitions with changes are committed, and each change once" do
      one = handled({0 => [0, 4], 1 => [0, 4]})
      assert_empty saved(one)
      one.add(Letter.new(1, 0))
      assert_equal [1], saved(one).map { |row| row[1] }
      assert_empty saved(one)
    end

    test "letters that retention has removed don't count, also where the commit lists them" do
      first = handled({0 => [0, 9]})
      [0, 1, 6].each { |offset| first.add(Letter.new(0, offset)) }
      row = as_read(saved(first).first)
      assert_equal [5, 7, 8], listed(handled({0 => [5, 9]}, row), 0, 5..8)
      assert_equal [5], listed(handled({0 => [5, 6]}, row), 0, [5]), "a partition that was created again and is shorter"
    end

    test "metadata of another tool are no handled letters" do
      assert_equal [2, 3], listed(handled({0 => [0, 4]}, {topic: "dead", partition: 0, offset: 2, metadata: "by hand"}), 0, 0..3)
    end

    test "a commit without an answer is reported with what it means for the list, and is sent again by the next save" do
      one = handled({0 => [0, 4]})
      one.add(Letter.new(0, 0))
      late = assert_raises(WaitTimeoutError) { saved(one, error: WaitTimeoutError.new("late")) }
      assert_equal "no answer to the commit of penstock-dead: handled letters may still be listed", late.message
      assert_equal [1], saved(one).map { |row| row[2] }
    end

    test "letters too scattered for a commit are refused with the way out, before anything is committed" do
      one = handled({0 => [0, 60_000]})
      Random.new(3).then { |random|
        60_000.times { |offset|
          one.add(Letter.new(0, offset)) if offset.positive? && random.rand < 0.5
        }
      }
      refused = assert_raises(CLI::Usage) { saved(one) }
      assert_match(%r{dead/0: the handled letters are too scattered .*\(\d+ letters too many\); handle the oldest letters first},
        refused.message)
    end
  end
end
