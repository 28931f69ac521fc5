# frozen_string_literal: true

require "test_helper"
require "penstock/cli/dead/handled"
require "penstock/native/admin"

module Penstock
  # Which dead letters were handled: read from, and written to, the commits of a group of its own.
  class DeadHandledTest < TestCase
    Letter = Struct.new(:partition, :offset)
    # Keeps committed offsets as a broker does. `bounds`: first offset and end of each partition; `overwrites`: commits of other
    # commands, each of which replaces the next commit of a test.
    Admin = Struct.new(:rows, :bounds, :asked, :written, :error, :overwrites) do
      def read_committed_offsets(group, places, stable:)
        self.asked = [group, places, stable]
        rows.values_at(*places.fetch("dead")).compact
      end

      def read_watermark_offsets(topics) = topics.transform_values { |partitions| bounds.slice(*partitions) }

      def write_committed_offsets(_group, rows)
        raise error if error

        rows.each { |row| self.rows[row[:partition]] = row }
        written.concat(rows)
        overwrites.shift&.then { |row| self.rows[row[:partition]] = row }
      end
    end

    def handled(bounds, *rows) = opened(@admin = Admin.new(rows.to_h { |row| [row[:partition], row] }, bounds, nil, [], nil, []))

    # As another command opens it at the same time.
    def opened(admin = @admin) = CLI::Dead::Handled.new(admin, "dead", admin.bounds, pause: -> {})

    def listed(handled, partition, offsets) = offsets.reject { |offset| handled.include?(Letter.new(partition, offset)) }

    # @return [Array<Hash>] what was committed
    def saved(handled, *letters)
      letters.each { |place| handled.add(Letter.new(*place)) }
      handled.save(@admin)
      @admin.written.slice!(0..)
    end

    test "without a commit nothing was handled" do
      assert_equal [3, 4, 5], listed(handled({0 => [3, 6]}), 0, [3, 4, 5])
      assert_equal ["penstock-dead", {"dead" => [0]}, true], @admin.asked
    end

    test "handled letters are found again by the next command, also those with gaps between them" do
      rows = saved(handled({0 => [3, 9], 1 => [0, 4]}), [0, 3], [0, 4], [0, 7], [1, 2])
      assert_equal [["dead", 0, 5], ["dead", 1, 0]], rows.map { |row| row.values_at(:topic, :partition, :offset) }
      again = opened
      assert_equal [[5, 6, 8], [0, 1, 3]], [listed(again, 0, 3..8), listed(again, 1, 0..3)]
    end

    test "only partitions with changes are committed, and each change once" do
      one = handled({0 => [0, 4], 1 => [0, 4]})
      assert_empty saved(one)
      assert_equal [1], saved(one, [1, 0]).map { |row| row[:partition] }
      assert_empty saved(one)
    end

    test "letters that another command has handled since this one read the list stay handled" do
      first, second = handled({0 => [0, 4]}), opened
      saved(first, [0, 2])
      @admin.bounds[0] = [0, 9]
      saved(opened, [0, 7])
      saved(second, [0, 0])
      assert_equal [1, 3, 4, 5, 6, 8], listed(opened, 0, 0..8)
    end

    test "letters that are stored at once are looked for in the end, and committed again if they were overwritten" do
      other = saved(handled({0 => [0, 4]}), [0, 2]).first
      one = handled({0 => [0, 4]})
      one.add(Letter.new(0, 0))
      one.store(@admin)
      assert_equal [1, 2, 3], listed(opened, 0, 0..3)
      @admin.overwrites << other
      one.add(Letter.new(0, 1))
      one.store(@admin)
      assert_predicate one, :added?
      one.save(@admin)
      refute_predicate one, :added?
      assert_equal [3], listed(opened, 0, 0..3)
    end

    test "a commit that another command overwrites is repeated, with what that one has added" do
      other = saved(handled({0 => [0, 4], 1 => [0, 4]}), [0, 2]).first
      one = handled({0 => [0, 4], 1 => [0, 4]})
      @admin.overwrites << other << other
      assert_equal [0, 1, 0, 0], saved(one, [0, 0], [1, 3]).map { |row| row[:partition] }
      assert_equal [[1, 3], [0, 1, 2]], [listed(opened, 0, 0..3), listed(opened, 1, 0..3)]
    end

    test "a commit that other commands overwrite each time is an error with the way out" do
      other = saved(handled({0 => [0, 4]}), [0, 2]).first
      @admin.overwrites.concat([other] * 20)
      lost = assert_raises(WaitTimeoutError) { saved(opened, [0, 0], [0, 1]) }
      assert_equal "other commands have overwritten the commits of penstock-dead 10 times: handled letters are still listed " \
        "(dead/0: 2). Run one penstock dead replay or drop of this topic at a time", lost.message
    end

    test "letters that retention removes in the meantime are not waited for" do
      one = handled({0 => [0, 9]})
      @admin.bounds[0] = [5, 9]
      assert_equal [5], saved(one, [0, 1]).map { |row| row[:offset] }
      @admin.bounds[0] = [0, 1]
      assert_equal [5], saved(one, [0, 7]).map { |row| row[:offset] }, "a partition that was created again and is shorter"
    end

    test "letters that retention has removed don't count, also where the commit lists them" do
      row = saved(handled({0 => [0, 9]}), [0, 0], [0, 1], [0, 6]).first
      assert_equal [5, 7, 8], listed(handled({0 => [5, 9]}, row), 0, 5..8)
      assert_equal [5], listed(handled({0 => [5, 6]}, row), 0, [5]), "a partition that was created again and is shorter"
    end

    test "metadata of another tool are no handled letters" do
      assert_equal [2, 3], listed(handled({0 => [0, 4]}, {topic: "dead", partition: 0, offset: 2, metadata: "by hand"}), 0, 0..3)
    end

    test "a commit without an answer is reported with what it means for the list, and is sent again by the next save" do
      one = handled({0 => [0, 4]})
      @admin.error = Native.error_for(Native.error_number(:timed_out), "group penstock-dead")
      late = assert_raises(WaitTimeoutError) { saved(one, [0, 0]) }
      assert_equal "no answer to the commit of penstock-dead: handled letters may still be listed", late.message
      @admin.error = nil
      assert_equal [1], saved(one).map { |row| row[:offset] }
    end

    test "another error of the commit is raised as it is" do
      one = handled({0 => [0, 4]})
      @admin.error = Native.error_for(Native.error_number(:group_authorization_failed), "group penstock-dead")
      assert_equal :group_authorization_failed, assert_raises(KafkaError) { saved(one, [0, 0]) }.code
    end

    test "of letters that are too scattered for a commit, the first ones that it has room for are recordable" do
      one = handled({0 => [0, 60_000], 1 => [0, 4]})
      letters = (1...30_000).map { |index| Letter.new(0, index * 2 - index % 3 % 2) } << Letter.new(1, 2)
      kept = one.recordable(@admin, letters)
      assert_includes kept, letters.last, "another partition has a commit of its own"
      first = kept.size - 1
      assert_equal letters.first(first), kept.first(first)
      assert_operator first, :>, 1_000
      saved(one, *kept.map(&:to_a))
      assert_empty opened.recordable(@admin, letters[first, 1])
      assert_match(%r{handled letters of dead/0 are too scattered: first replay or drop the oldest}, one.too_scattered(0))
      oldest = [0, 1].map { |offset| Letter.new(0, offset) }
      assert_equal oldest, opened.recordable(@admin, oldest), "letters that fill gaps"
    end

    test "offsets without a record count as handled with the record before them: letters of transactions aren't scattered" do
      one = handled({0 => [4, 20_001]})
      letters = (3..9_999).map { |index| Letter.new(0, index * 2) }
      letters.each { |letter| one.passed(letter, true) }
      assert_equal letters, one.recordable(@admin, letters.reverse).reverse
      assert_equal [6], saved(one, [0, 4]).map { |row| row[:offset] }, "before the first record, and after a handled one"
      assert_equal [19_999], saved(one, *letters.map(&:to_a)).map { |row| row[:offset] }, "nothing is known of the end"
      again = opened
      [*letters, Letter.new(0, 20_000)].each { |letter| again.passed(letter, again.include?(letter)) }
      again.try_commit(@admin, [Letter.new(0, 20_000)])
      assert_equal 20_000, @admin.written.last[:offset]
    end

    test "offsets between records that aren't handled don't count as handled" do
      one = handled({0 => [0, 40]})
      (0...20).each { |index| one.passed(Letter.new(0, index * 2), index.even?) }
      assert_equal [0], saved(one, [0, 8]).map { |row| row[:offset] }
      assert_equal [*0..7, *10..39], listed(opened, 0, 0..39)
    end

    test "a commit that changes nothing shows an error before any letter is handled" do
      row = saved(handled({0 => [0, 9], 1 => [0, 9]}), [0, 1]).first
      one = opened
      one.try_commit(@admin, [Letter.new(0, 3)])
      assert_equal [row], @admin.written.slice!(0..)
      one.try_commit(@admin, [])
      assert_empty @admin.written
      @admin.error = Native.error_for(Native.error_number(:group_authorization_failed), "group penstock-dead")
      assert_equal :group_authorization_failed, assert_raises(KafkaError) { one.try_commit(@admin, [Letter.new(0, 3)]) }.code
      @admin.error = Native.error_for(Native.error_number(:timed_out), "group penstock-dead")
      assert_match(/so nothing was sent/, assert_raises(WaitTimeoutError) { one.try_commit(@admin, [Letter.new(0, 3)]) }.message)
    end

    test "letters are unwritten until a commit has them, and again if it is overwritten" do
      other = saved(handled({0 => [0, 4]}), [0, 2]).first
      one = opened
      one.add(Letter.new(0, 0))
      assert_equal({0 => [0]}, one.unwritten)
      one.store(@admin)
      assert_empty one.unwritten
      one.add(Letter.new(0, 1))
      @admin.error = Native.error_for(Native.error_number(:timed_out), "group penstock-dead")
      assert_raises(WaitTimeoutError) { one.store(@admin) }
      assert_equal({0 => [1]}, one.unwritten)
      @admin.error = nil
      @admin.overwrites.concat([other] * 20)
      assert_raises(WaitTimeoutError) { one.save(@admin) }
      assert_equal({0 => [0, 1]}, one.unwritten)
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
      assert_empty @admin.written
    end
  end
end
