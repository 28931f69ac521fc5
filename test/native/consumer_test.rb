# frozen_string_literal: true

require "test_helper"
require "json"
require "support/native_member"

module Penstock
  module Native
    class ConsumerTest < TestCase
      include TestSupport::NativeCluster

      test "[poll_batch eof] produced records are taken in order, and the end is reported" do
        name = topic(2)
        produce(name, %w[a b c], partition: 0)
        produce(name, %w[d], partition: 1)
        one = member(name)
        one.turn_until { one.batches.values.flatten.filter_map(&:eof).sort == [1, 3] }

        assert_equal({[name, 0] => [0, 1, 2], [name, 1] => [0]}, one.offsets)
        assert_equal %w[a b c], one.batches[[name, 0]].flat_map { |batch| batch.raw_payloads(0, batch.size) }
      end

      test "a batch has the lane's cursor before and after the take" do
        name = topic
        produce(name, %w[a b])
        one = member(name)
        one.await_records([name, 0], 2)
        first = one.batches[[name, 0]].find { |batch| batch.size.positive? }

        assert_equal(-1001, first.from)
        assert_equal first.offset(0) + first.size, first.to
        assert_predicate first, :contiguous?
        assert_equal 2, one.lanes[[name, 0]].cursor
      end

      test "a commit is answered by an event with its token, and its metadata can be read again, zero bytes included" do
        name = topic
        one = member(name)
        one.await_assignment(1)
        one.consumer.commit(7, [[name, 0, 5, "a\0b", 0]])
        one.consumer.fetch_committed(8, [[name, 0]], timeout_ms: 2_000) if one.await_event(:commit)
        committed = one.await_event(:committed)

        assert_equal [:commit, 7, 0, [[name, 0, 5, 0]]], one.await_event(:commit)
        assert_equal [:committed, 8, 0, nil], committed.first(4)
        assert_equal [name, 0, 5, "a\0b"], committed[4][0].first(4)
        assert_equal Encoding::BINARY, committed[4][0][3].encoding
      end

      test "a partition without a commit is answered with -1001 and no metadata" do
        name = topic
        one = member(name)
        one.await_assignment(1)
        one.consumer.fetch_committed(1, [[name, 0]], timeout_ms: 2_000)

        assert_equal [name, 0, -1001, nil], one.await_event(:committed)[4][0].first(4)
      end

      test "a failed commit is an event with the error number of each partition" do
        name = topic
        one = member(name)
        one.await_assignment(1)
        cluster.push_request_errors(:offset_commit, [:offset_metadata_too_large])
        one.consumer.commit(1, [[name, 0, 1]])
        event = one.await_event(:commit)

        assert_equal Native.error_number(:offset_metadata_too_large), event[3][0][3]
      end

      test "seek starts again at the offset, and no earlier record arrives" do
        name = topic
        produce(name, (0...50).map(&:to_s))
        one = member(name, takes: false)
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.turn_until { lane.length >= 50 }

        assert_nil one.consumer.seek(lane, 40)
        assert_equal 40, lane.cursor
        one.takes = true
        one.await_records([name, 0], 10)
        assert_equal (40...50).to_a, one.offsets[[name, 0]]
      end

      test "touch keeps a live record for the next take" do
        name = topic
        produce(name, %w[a b c])
        one = member(name, takes: false)
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.turn_until { lane.length >= 3 }
        2.times { one.consumer.touch([lane]) }
        one.takes = true
        one.await_records([name, 0], 3)

        assert_equal [0, 1, 2], one.offsets[[name, 0]]
      end

      test "a take ends near its byte limit, and reports that there is more" do
        name = topic
        produce(name, Array.new(40) { "x" * 10_000 })
        one = member(name, takes: false)
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.turn_until { lane.length >= 40 }
        batch, = one.consumer.take([lane, 1_000, 50_000])

        assert_predicate batch, :full?
        assert_includes 50_000..110_000, batch.bytes
        one.consumer.take([lane, 1_000, 1 << 30])
      end

      test "a take never returns more records than requested" do
        name = topic
        produce(name, Array.new(20, "x"))
        one = member(name, takes: false)
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.turn_until { lane.length >= 20 }

        assert_equal [7, 7], Array.new(2) { one.consumer.take([lane, 7, 1 << 20])[0].size }
      end

      test "an error of the lane is in the batch of the take that met it" do
        name = topic
        produce(name, %w[a b])
        one = member(name, "auto.offset.reset" => "error")
        one.turn_until { one.batches[[name, 0]].any?(&:error) }
        number, message = one.batches[[name, 0]].filter_map(&:error).first

        assert_equal(-140, number) # _AUTO_OFFSET_RESET
        assert_match(/offset/i, message)
      end

      test "wait ends once for a wake-up from another thread" do
        one = member
        one.turn(0)
        Thread.new { one.consumer.wakeup }.join

        assert one.consumer.wait(0)
        refute one.consumer.wait(0)
      end

      test "[GVL suite] wait blocks without Ruby's lock and ends at its timeout" do
        one = member
        one.turn(0)
        ticks = 0
        ticker = Thread.new { loop { Thread.pass || ticks += 1 } }
        # On a busy machine the other thread may get no turn once; if the lock were held it would never get one.
        most = Array.new(3) do
          before = ticks
          refute one.consumer.wait((100 * TestSupport::Wait::TIME_FACTOR).ceil)
          ticks - before
        end.max

        assert_operator most, :>, 5
      ensure
        ticker.kill.join
      end

      test "[GVL suite] other threads never stall while a member joins, takes, queries, rebalances and closes" do
        limit = 0.3 * TestSupport::Wait::TIME_FACTOR # a query that kept the lock would take as long
        # A call that keeps the lock does so each time, unlike a busy machine.
        assert((1..4).any? { longest_stall { two_members_come_and_go(limit) } < limit })
      end

      def two_members_come_and_go(limit)
        name = topic(2)
        produce(name, Array.new(200, "x" * 1_000))
        one = member(name)
        one.await_records([name, 0], 200)
        other = member(name)
        one.turn_until(10, "a lane each") { other.turn(0) || (one.lanes.size == 1 && other.lanes.size == 1) }
        assert_raises(KafkaError) { one.consumer.query_watermarks("nowhere", 0, (limit * 1_000).ceil) }
        [one, other].each { |each| each.close(2_000) }
      end

      # The longest time between two ticks of a thread that has nothing else to do.
      def longest_stall
        stop = false
        ticker = Thread.new { ticks_until { stop } }
        yield
        stop = true
        ticker.value.each_cons(2).map { |before, after| after - before }.max
      ensure
        stop = true
      end

      def ticks_until
        ticks = []
        until yield
          ticks << Process.clock_gettime(Process::CLOCK_MONOTONIC)
          observe_for(0.002)
        end
        ticks
      end

      test "a second thread in the loop's calls is refused instead of racing" do
        name = topic
        produce(name, Array.new(500, "x" * 1_000))
        one = member(name, takes: false)
        one.await_assignment(1)
        errors = [InternalError]
        threads = Array.new(4) do
          Thread.new do
            300.times { one.consumer.take(one.lanes.values.flat_map { |lane| [lane, 5, 1 << 20] }) }
          rescue InternalError => error
            errors << error.class
          end
        end
        threads.each(&:join)

        assert_equal [InternalError], errors.uniq
      end

      test "a lane of another consumer is refused" do
        name = topic
        one = member(name)
        one.await_assignment(1)
        other = member

        assert_raises(ArgumentError) { other.consumer.take([one.lanes[[name, 0]], 1, 1]) }
        assert_raises(ArgumentError) { other.consumer.touch([one.lanes[[name, 0]]]) }
      end

      test "a consumer without a group, or with an unknown property, is refused" do
        assert_match(/group.id/, assert_raises(KafkaError) { Consumer.new({}) }.message)
        assert_match(/nonsense/, assert_raises(KafkaError) { Consumer.new({"nonsense" => "1"}) }.message)
      end

      test "statistics and logs arrive as events" do
        one = member(topic, "statistics.interval.ms" => "100", "debug" => "cgrp", "log_level" => "7")

        assert_operator JSON.parse(one.await_event(:stats)[1]), :key?, "name"
        assert_kind_of String, one.await_event(:log)[3]
      end

      test "[Stats filter] statistics contain assigned partitions only" do
        one = member(name = topic(2), "statistics.interval.ms" => "100")
        other = member(name)
        one.turn_until { other.turn(0) || (one.lanes.size == 1 && other.lanes.size == 1) }
        one.events.clear
        topics = JSON.parse(one.await_event(:stats)[1])["topics"]

        assert_equal one.lanes.keys, topics.flat_map { |topic, about| about["partitions"].keys.map { [topic, _1.to_i] } }
      end

      test "statistics keep data of partitions and brokers, and leave out the client's internals" do
        one = member(name = topic, "statistics.interval.ms" => "100")
        one.await_assignment(1)
        one.events.clear
        statistics = JSON.parse(one.await_event(:stats)[1])
        broker = statistics["brokers"].values.find { |about| about["nodeid"].positive? }
        partition = statistics["topics"][name]["partitions"]["0"]

        assert_empty %w[consumer_lag committed_offset hi_offset fetch_state] - partition.keys
        assert_empty %w[min max avg p50 p95 p99] - broker["rtt"].keys
        assert_empty %w[int_latency outbuf_latency throttle state tx rx] - broker.keys
        assert_empty broker.keys & %w[req toppars]
        refute_includes partition, "desired"
      end

      test "values of the member are read without network requests" do
        name = topic
        one = member(name)
        one.await_assignment(1)

        assert_equal "COOPERATIVE", one.consumer.rebalance_protocol
        assert_equal [[name, 0]], one.consumer.assignment
        refute_empty one.consumer.member_id
        refute_predicate one.consumer, :assignment_lost?
        assert_equal 2, one.consumer.cached_watermarks(name, 0).size
        assert_equal [-1001, -1001], one.consumer.cached_watermarks("nowhere", 0)
      end

      test "watermarks, times, metadata and the cluster's id are queried from brokers" do
        name = topic(2)
        produce(name, %w[a b c])
        one = member
        metadata = one.consumer.metadata(name, 5_000)

        assert_equal [0, 3], one.consumer.query_watermarks(name, 0, 5_000)
        assert_equal [name, 0], one.consumer.offsets_for_times([[name, 0, 1]], 5_000)[0].first(2)
        assert_equal [0, 1], metadata[:topics][name][:partitions].keys.sort
        assert_equal metadata[:cluster_id], one.consumer.cluster_id(5_000)
        assert_equal 1, metadata[:brokers].size
      end

      test "a query without an answer raises at its timeout" do
        consumer = Consumer.new(TestSupport::NativeMember::PROPERTIES.merge("bootstrap.servers" => "127.0.0.1:1"))

        assert_raises(KafkaError) { consumer.metadata(nil, 200) }
        assert_nil consumer.cluster_id(50)
      ensure
        consumer.close(100)
      end

      test "an assignment answered with offsets starts there" do
        name = topic
        produce(name, Array.new(10, "x"))
        one = member(name, answers: false)
        one.turn_until(10, "an assignment") { one.pending == 1 }

        assert_nil one.consumer.answer([[name, 0, 7]])
        one.await_records([name, 0], 3)
        assert_equal [7, 8, 9], one.offsets[[name, 0]]
      end

      OAUTH = {
        "bootstrap.servers" => "127.0.0.1:1", "security.protocol" => "sasl_plaintext",
        "sasl.mechanisms" => "OAUTHBEARER", "log_level" => "0"
      }.freeze

      test "a token is requested by an event; a valid one is accepted, an invalid one refused with a reason" do
        one = Consumer.new(TestSupport::NativeMember::PROPERTIES.merge(OAUTH, "sasl.oauthbearer.config" => "scope=a"))
        event = wait_until(5) { one.poll_event&.then { |found| found if found.first == :token_refresh } }
        hour_ms = 3_600_000

        assert_equal [:token_refresh, "scope=a"], event
        assert_nil one.set_token("token", (Time.now.to_i * 1_000) + hour_ms, "me", {"extension" => "value"})
        assert_kind_of Integer, one.set_token("token", 1, "me", nil).first
        assert_nil one.set_token_failure("the server is away")
      ensure
        one&.close(500)
      end

      test "tokens that librdkafka fetches itself cause no event" do
        own = {"enable.sasl.oauthbearer.unsecure.jwt" => "true", "sasl.oauthbearer.config" => "principal=me"}
        one = Consumer.new(TestSupport::NativeMember::PROPERTIES.merge(OAUTH, own))
        events = []
        wait_until(5) { (events << one.poll_event).any? { |event| event&.first == :error } }

        assert_empty(events.compact.select { |event| event.first == :token_refresh })
      ensure
        one&.close(500)
      end

      test "inspect shows where it was opened, but no configuration" do
        one = Consumer.new(TestSupport::NativeMember::PROPERTIES.merge("sasl.password" => "secret"))

        assert_equal __FILE__, one.opened_at.first.path
        refute_match(/secret/, one.inspect)
      ensure
        one.close(100)
      end
    end
  end
end
