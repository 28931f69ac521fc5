# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/dead/session"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/messages/message"
require "support/commands"

module Penstock
  # `penstock dead show` and `dead list`: which letters they ask for, and how they print them.
  class DeadShowTest < TestCase
    include TestSupport::Commands

    # The letters of a topic, and why the omitted parts of each are no longer available.
    Session = Struct.new(:letters, :gone_because, keyword_init: true) do
      def each(&) = letters.each(&)
      def gone(_letter) = gone_because
    end

    SOURCE = {"source_topic" => "orders", "source_partition" => "1", "source_offset" => "7"}.freeze

    def letters(count = 1, key: "k", payload: "content", handled: false, **headers)
      rows = Array.new(count) do |offset|
        Messages::MemoryBatch::Row.new(offset: offset, payload: payload, key: key, timestamp: 1_700_000_000_000,
          headers: {**SOURCE, **headers.transform_keys(&:to_s)})
      end
      batch = Messages::MemoryBatch.new("orders.dead", 0, rows)
      Array.new(count) { |index| CLI::Dead::Letter.new(Message.new(batch, index), handled: handled) }
    end

    def dead(*argv, letters: self.letters, gone: nil)
      session = Session.new(letters: letters, gone_because: gone)
      make = lambda do |_target, topic, options|
        @asked = [topic, options]
        session
      end
      CLI::Dead::Session.stub(:new, make) { penstock("dead", *argv) }
    end

    def show(**more) = dead("show", "orders.dead", "0", "3", **more)

    test "the letter at a place is asked for, also a handled one; a place that is no number is refused" do
      assert_equal 0, show.code
      assert_equal ["orders.dead", {partition: 0, offset: 3, all: true}], @asked
      [%w[zero 3], %w[0 0x3], %w[0 3.5]].each do |place|
        assert_match(/is not a number/, dead("show", "orders.dead", *place).err)
      end
    end

    test "a place without a message is a failure that names it" do
      assert_equal ["", "there is no message at orders.dead/0/3\n", 1], show(letters: []).to_a
    end

    test "it prints the source, the time, the key, each header on a line, and the payload" do
      assert_equal <<~TEXT, show(letters: letters(key: nil, handled: true, tag: %w[web app])).out
        orders.dead/0/0 (handled), from orders/1/7, failed 2023-11-14T22:13:20.000Z
        key: -
        source_topic: orders
        source_partition: 1
        source_offset: 7
        tag: web, app

        content
      TEXT
    end

    test "a payload of nil is a dash, an omitted one isn't printed, with its size and where it is" do
      assert_equal "-", show(letters: letters(payload: nil)).out.lines(chomp: true).last
      omitted = letters(payload: nil, penstock_omitted: "payload,headers", penstock_payload_bytes: "9000")
      assert_equal "(too large: its payload and its headers was left out, the payload has 9000 bytes. `penstock dead replay` " \
        "reads it at orders/1/7)", show(letters: omitted).out.lines(chomp: true).last
      assert_match(/It is no longer available: orders\/1\/7 is gone\)$/, show(letters: omitted, gone: "orders/1/7 is gone").out)
      assert_equal "gone", JSON.parse(dead("show", "orders.dead", "0", "3", "--json", letters: omitted, gone: "gone").out)["gone"]
    end

    test "list prints at most the limit and mentions that there are more" do
      found = dead("list", "orders.dead", "--limit", "2", "--json", letters: letters(3))
      assert_equal [[0, 1], "there are more: --limit N shows them\n"], [JSON.parse(found.out).map { |one|
        one["offset"]
      }, found.err]
      assert_empty dead("list", "orders.dead", "--limit", "3", letters: letters(3)).err
      assert_equal 101, dead("list", "orders.dead", letters: letters(101)).out.lines.size, "a heading and 100 letters"
    end
  end
end
