# frozen_string_literal: true

require "test_helper"
require "objspace"
require "support/native_member"

module Penstock
  module Native
    class BatchTest < TestCase
      include TestSupport::NativeCluster

      View = Class.new do
        attr_reader :batch, :index, :memo

        def payload
          @batch.payload(@index)
        end
      end
      Owner = Class.new { attr_reader :cursor }

      # All records that the block produces, in one batch.
      def batch_of(count)
        name = topic
        producer = Producer.new({"bootstrap.servers" => cluster.bootstrap_servers, "message.max.bytes" => "2000000"})
        yield producer, name
        producer.flush(5_000)
        take_all(name, count)
      ensure
        producer&.close(1_000)
      end

      def take_all(name, count)
        one = member(name, :takes => false, "fetch.message.max.bytes" => "4000000")
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.turn_until(10, "#{count} records") { take_all_at_once(one.consumer, lane, count) }
      end

      # Records may arrive in two fetches: then they are taken again, from the beginning.
      def take_all_at_once(consumer, lane, count)
        batch, = consumer.take([lane, count, 1 << 30])
        return batch if batch && batch.size == count

        consumer.seek(lane, 0) if batch&.size&.positive?
        nil
      end

      def batch_of_texts(*payloads)
        batch_of(payloads.size) do |producer, name|
          payloads.each { |payload| producer.produce(name, payload, partition: 0, handle: false) }
        end
      end

      test "a text is the payload's bytes flagged as UTF-8, valid or not" do
        batch = batch_of_texts("päy", nil, "\xFF".b)
        texts = Array.new(3) { |index| batch.text(index) }
        assert_equal ["päy", nil, "\xFF"], texts
        assert_equal [Encoding::UTF_8, true, false], [texts[0].encoding, texts[0].frozen?, texts[2].valid_encoding?]
        assert_raises(IndexError) { batch.text(3) }
      end

      test "payload and key are frozen bytes, and nil differs from empty" do
        batch = batch_of(3) do |producer, name|
          producer.produce(name, "päy", "k", partition: 0, handle: false)
          producer.produce(name, nil, "gone", partition: 0, handle: false)
          producer.produce(name, "", nil, partition: 0, handle: false)
        end

        assert_equal ["päy".b, nil, ""], batch.raw_payloads(0, 3)
        assert_equal(["k", "gone", nil], Array.new(3) { |i| batch.key(i) })
        assert_equal [Encoding::BINARY] * 2, [batch.payload(0).encoding, batch.key(0).encoding]
        assert_predicate batch.payload(0), :frozen?
        assert_equal([5, 4, 0], Array.new(3) { |i| batch.bytesize(i) })
        assert_equal 9, batch.bytes
      end

      test "headers keep repeated names in order and values without bytes, and are deeply frozen" do
        headers = {"one" => "1", "many" => ["a", nil, ""], "none" => nil}
        batch = batch_of(2) do |producer, name|
          producer.produce(name, "x", partition: 0, headers: headers, handle: false)
          producer.produce(name, "y", partition: 0, handle: false)
        end

        assert_equal headers, batch.headers(0)
        assert_nil batch.headers(1)
        assert_predicate batch.headers(0), :frozen?
        assert_predicate batch.headers(0)["many"], :frozen?
        assert_equal Encoding::UTF_8, batch.headers(0)["one"].encoding
      end

      test "the time, its type and the leader's epoch come with each record" do
        batch = batch_of(1) do |producer, name|
          producer.produce(name, "x", partition: 0, timestamp_ms: 1_700_000_000_123, handle: false)
        end

        assert_equal 1_700_000_000_123, batch.timestamp(0)
        assert_equal :create, batch.timestamp_type(0)
        assert_kind_of Integer, batch.leader_epoch(0)
      end

      test "a record larger than a chunk is complete, between small ones" do
        large = Random.bytes(600_000)
        batch = batch_of_texts("a" * 10, large, "b" * 10)

        assert_equal ["a" * 10, large, "b" * 10], batch.raw_payloads(0, 3)
      end

      test "each view knows its batch and its index, and the owner its cursor" do
        batch = batch_of_texts("a", "b", "c")
        owner = Owner.new
        seen = []
        batch.each_view(View, owner, 1, 2) { |view| seen << [view.payload, view.index, view.memo, owner.cursor] }

        assert_equal [["b", 1, nil, 1], ["c", 2, nil, 2]], seen
        batch.each_view(View, nil, 0, 1) { |view| assert_same batch, view.batch }
      end

      test "an error in the block leaves the cursor on the record it came from" do
        batch = batch_of_texts("a", "b", "c")
        owner = Owner.new

        assert_raises(IOError) { batch.each_view(View, owner, 0, 3) { |view| raise IOError if view.index == 1 } }
        assert_equal 1, owner.cursor
      end

      test "raw payloads can be read without views" do
        batch = batch_of_texts("a", "b", "c")
        seen = []
        batch.each_raw(1, 2) { |payload| seen << payload }

        assert_equal %w[b c], seen
        assert_equal [0, 1, 2], batch.offsets
      end

      test "indexes of records that don't exist are refused" do
        batch = batch_of_texts("a")

        assert_raises(IndexError) { batch.payload(1) }
        assert_raises(IndexError) { batch.payload(-1) }
        assert_raises(IndexError) { batch.each_view(View, nil, 0, 2) { flunk } }
        assert_raises(IndexError) { batch.raw_payloads(1, 1 << 40) }
        assert_raises(RangeError) { batch.key(1 << 70) }
      end

      test "a released batch frees its memory, and raises when it is read" do
        batch = batch_of_texts("a" * 100_000)
        before = ObjectSpace.memsize_of(batch)
        batch.release!
        batch.release!

        assert_operator ObjectSpace.memsize_of(batch), :<, before - 90_000
        assert_predicate batch, :released?
        assert_match(/released/, assert_raises(ReleasedError) { batch.payload(0) }.message)
        assert_raises(ReleasedError) { batch.raw_payloads(0, 1) }
      end

      test "a batch released inside its own loop ends the loop with an error, and freed memory isn't read" do
        batch = batch_of_texts("a", "b")

        assert_raises(ReleasedError) { batch.each_view(View, nil, 0, 2) { batch.release! } }
        assert_kind_of Penstock::Error, assert_raises(ReleasedError) { batch.payload(0) }
      end

      test "a batch outlives its consumer" do
        batch = batch_of_texts("kept")
        @members.each { |member| member.close(500) }
        @members.clear
        GC.start

        assert_equal "kept", batch.payload(0)
      end

      test "views, context and strings survive garbage collection and compaction" do
        batch = batch_of(50) do |producer, name|
          50.times { |i|
            producer.produce(name, "payload #{i}" * 3, "k#{i}", partition: 0, headers: {"h" => "v"}, handle: false)
          }
        end
        batch.context = {"deep" => ["context"]}
        views = []
        stressed { batch.each_view(View, Owner.new, 0, 50) { |view| views << view } }
        GC.start
        GC.compact if GC.respond_to?(:compact)

        stressed do
          assert_equal "payload 7payload 7payload 7", views[7].payload
          assert_equal({"h" => "v"}, batch.headers(49))
          assert_equal ["context"], batch.context["deep"]
        end
      end

      def stressed
        GC.stress = true
        yield
      ensure
        GC.stress = false
      end

      test "with GC stress, taking loses nothing" do
        name = topic
        produce(name, Array.new(30) { |i| "record #{i}" })
        one = member(name, takes: false)
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.turn_until { lane.length >= 30 }
        batches = nil
        stressed { batches = Array.new(3) { one.consumer.take([lane, 10, 1 << 20])[0] } }

        assert_equal (0...30).to_a, batches.flat_map(&:offsets)
      end

      # With GC disabled its count of bytes only grows; otherwise it would run for other reasons too.
      test "the garbage collector knows the number of bytes, so unreferenced batches don't pile up" do
        name = topic
        produce(name, Array.new(20) { "x" * 100_000 })
        one = member(name, takes: false)
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.turn_until(30, "20 records") { lane.length >= 20 }
        GC.disable
        before = told_bytes
        batch, = one.consumer.take([lane, 20, 1 << 30])
        taken = told_bytes
        batch.release!

        assert_operator taken - before, :>=, 2_000_000
        assert_operator taken - told_bytes, :>=, 1_900_000
      ensure
        GC.enable
      end

      def told_bytes
        GC.stat(:malloc_increase_bytes)
      end
    end
  end
end
