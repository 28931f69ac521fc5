# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/dead/filter"
require "penstock/cli/dead/session"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/messages/message"
require "support/commands"

module Penstock
  # The commands that change a list of dead letters, `penstock dead replay` and `dead drop`: what they ask, do and print.
  class DeadReplayTest < TestCase
    include TestSupport::Commands

    # The letters of a topic; replays and drops are remembered, and `found` is the result of a replay.
    Session = Struct.new(:filter, :letters, :found, :replayed, :dropped) do
      def each(&) = letters.each(&)
      def objection(letter, to) = ("it has no source" unless to || letter.source)
      def drop(list) = (self.dropped = list.map(&:offset))

      def replay(list, to)
        self.replayed = [list.map(&:offset), to]
        found || CLI::Dead::Session::Returned.new(list, {}, nil, 0)
      end
    end

    def letters(*topics)
      rows = topics.each_with_index.map do |topic, offset|
        headers = {"source_topic" => topic, "source_partition" => "0", "source_offset" => "5"} if topic
        Messages::MemoryBatch::Row.new(offset: offset, payload: "p", headers: headers || {}, timestamp: 1_700_000_000_000)
      end
      batch = Messages::MemoryBatch.new("orders.dead", 0, rows)
      Array.new(topics.size) { |index| CLI::Dead::Letter.new(Message.new(batch, index)) }
    end

    def dead(name, *argv, letters: letters("orders", "orders"), found: nil, typed: nil, filter: {topic: "orders"})
      @session = Session.new(CLI::Dead::Filter.new(filter, 0), letters, found)
      replacing(CLI::Dead::Session, @session) { penstock("dead", name, "orders.dead", *argv, typed: typed) }
    end

    test "without a filter nothing is chosen, unless --everything is given" do
      %w[replay drop].each do |name|
        refused = dead(name, "--yes", filter: {})
        assert_equal [1, nil, nil], [refused.code, @session.replayed, @session.dropped]
        assert_match(/select letters .*or --everything/, refused.err)
        assert_equal 0, dead(name, "--yes", "--everything", filter: {}).code
      end
    end

    test "both ask before a change: only yes at a terminal, or --yes, makes it" do
      %w[replay drop].each do |name|
        [dead(name), dead(name, typed: "no\n"), dead(name, typed: "")].each { |refused| assert_equal 1, refused.code }
        assert_equal [nil, nil], [@session.replayed, @session.dropped]
        assert_match(/pass --yes/, dead(name).err)
        assert_equal 0, dead(name, typed: "yes\n").code
        assert_equal [0, 1], @session.dropped || @session.replayed.first
      end
    end

    test "the question names how many messages go where, and how many can't" do
      names = Array.new(12) { |index| "t#{index}" }
      asked = dead("replay", letters: letters(*names, nil), typed: "")
      assert_includes asked.out, "Send 12 messages to t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more? 1 can't be sent."
      assert_includes dead("replay", "--to", "elsewhere", typed: "").out, "Send 2 messages to elsewhere?"
      assert_includes dead("drop", typed: "").out, "Remove 2 dead letters from the list?"
    end

    test "letters that can't be sent are named with the reason, at most 100 of them, and the exit code is 1" do
      found = dead("replay", "--yes", letters: letters("orders", nil))
      assert_equal ["replayed 1 messages to orders\n",
        "orders.dead/0/1 wasn't replayed: it has no source\n1 letter stays on the list\n", 1],
        found.to_a
      many = dead("replay", "--yes", letters: letters(*[nil] * 103))
      assert_equal [100, ["… and 3 more", "103 letters stay on the list"], nil],
        [many.err.scan("wasn't replayed").size, many.err.lines(chomp: true).last(2), @session.replayed]
    end

    test "refusals of the cluster are added to those known before, and a stopped replay counts what wasn't tried" do
      list = letters("orders", "orders", "orders", nil)
      stopped = CLI::Dead::Session::Returned.new([list[0]], {list[1] => "too large"}, kafka_error(:transport, "no broker"), 3)
      found = dead("replay", "--yes", letters: list, found: stopped)
      assert_equal 1, found.code
      assert_equal ["orders.dead/0/1 wasn't replayed: too large", "orders.dead/0/3 wasn't replayed: it has no source"],
        found.err.lines(chomp: true).grep(/wasn't/).sort
      assert_match(/stopped, because the cluster can't be reached \(.*no broker.*\): 1 more weren't tried$/, found.err)
    end

    test "messages that were sent and not recorded are named, with what another replay does" do
      list = letters("orders", "orders", "orders")
      stopped = CLI::Dead::Session::Returned.new(list.first(2), {}, kafka_error(:group_authorization_failed, "no"), 0, nil,
        {0 => [0, 1]})
      found = dead("replay", "--yes", letters: list, found: stopped)
      assert_equal ["replayed 2 messages to orders\n", 1], [found.out, found.code]
      assert_match(/of the 2 replayed .* may not be recorded as replayed \(.*no.*\): 2 of partition 0, offsets 0 to 1\./,
        found.err)
      assert_match(/another replay sends them again: drop them first/, found.err)
      assert_match(/stopped, because it couldn't be recorded what was replayed \(.*no.*\): 1 more weren't tried$/, found.err)
    end

    test "--to must be a valid topic name, and takes letters without a source" do
      refused = dead("replay", "--yes", "--to", "no topic")
      assert_match(/--to "no topic" is not a valid topic name/, refused.err)
      assert_nil @session.replayed
      dead("replay", "--yes", "--to", "elsewhere", letters: letters(nil))
      assert_equal [[0], "elsewhere"], @session.replayed
    end

    test "a dry run lists the letters, as a table or as JSON, and changes nothing" do
      %w[replay drop].each do |name|
        assert_includes dead(name, "--dry-run").out, "orders/0/5"
        assert_equal [0, 1], JSON.parse(dead(name, "--dry-run", "--json").out).map { |one| one["offset"] }
        assert_equal [nil, nil], [@session.replayed, @session.dropped]
        assert_equal ["no dead letters\n", 0], dead(name, "--yes", letters: []).then { |found| [found.out, found.code] }
      end
      assert_equal 1, dead("replay", "--dry-run", letters: letters("orders", nil)).code
    end

    test "drop reports the number of letters, or the letters as JSON" do
      assert_equal "dropped 2 dead letters\n", dead("drop", "--yes").out
      assert_equal [0, 1], JSON.parse(dead("drop", "--yes", "--json").out).map { |one| one["offset"] }
    end
  end
end
