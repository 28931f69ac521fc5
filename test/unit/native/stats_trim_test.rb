# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/native/stats_trim"

module Penstock
  module Native
    class StatsTrimTest < TestCase
      REAL = File.read(File.join(__dir__, "files/librdkafka-2.16.0-statistics.json")).freeze

      NOT_JSON = [
        "", " ", "[]", "1", "{", "}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1}x', '{"a":nan}', '{"a":01}', "{a:1}",
        '{"a":1 "b":2}', '{"a":+1}', '{"a":1.}', '{"a":.5}', '{"a":1e}', '{"a":--1}', '{"a":tru}', "{\"a\":\"\n\"}",
        "{\"a\":\"\\", "{\"a\":\"\0\"}", '{"topics":[]}', '{"topics":{"a":[]}}', '{"topics":{"a":{"partitions":1}}}',
        '{"topics":{"a":{"partitions":{"0":1}}}}'
      ].freeze

      test "[trimmed stats] [Stats filter] only wanted partitions are kept, with their offsets and lags" do
        topics = keep(REAL, [["orders", 0], ["orders", 2]])["topics"]

        assert_equal ["orders"], topics.keys
        assert_equal %w[0 2], topics["orders"]["partitions"].keys
        whole = JSON.parse(REAL)["topics"]["orders"]["partitions"]["0"]
        kept = topics["orders"]["partitions"]["0"]
        %w[partition leader fetch_state committed_offset stored_offset hi_offset ls_offset lo_offset consumer_lag
          consumer_lag_stored rxmsgs rxbytes].each { |key| assert_equal whole.fetch(key), kept.fetch(key), key }
        assert_empty kept.keys & %w[msgq_cnt xmit_msgq_cnt txmsgs msgs_inflight], "what only a producer has"
        assert_operator kept.size, :<, whole.size
      end

      test "every plain number of the client is kept, and so are its group and its brokers" do
        whole = JSON.parse(REAL)
        kept = keep(REAL, [])

        assert_equal(whole.reject { |_key, value| value.is_a?(Hash) }, kept.reject { |_key, value| value.is_a?(Hash) })
        assert_equal whole["cgrp"], kept["cgrp"]
        assert_equal whole["brokers"].keys, kept["brokers"].keys
        whole["brokers"].each do |name, broker|
          %w[state rxbytes connects int_latency outbuf_latency rtt throttle].each { |key|
            assert_equal broker.fetch(key), kept["brokers"][name][key]
          }
          assert_empty kept["brokers"][name].keys & %w[toppars req]
        end
      end

      test "a topic without a wanted partition is omitted, at any position" do
        json = '{"topics":{"a":{"partitions":{"0":{"partition":0}}},"b":{"partitions":{"1":{"partition":1}}},' \
               '"c":{"partitions":{"0":{"partition":0}}}}}'

        assert_equal({"topics" => {"b" => {"partitions" => {"1" => {"partition" => 1}}}}}, keep(json, [["b", 1]]))
        assert_equal %w[a c], keep(json, [["a", 0], ["c", 0]])["topics"].keys
        assert_equal({"topics" => {}}, keep(json, [["d", 0]]))
      end

      test "without any wanted partition there are no topics" do
        assert_equal({"topics" => {}}, JSON.parse(StatsTrim.call(REAL, nil)).slice("topics"))
      end

      test "partition -1 is never kept" do
        json = '{"topics":{"a":{"partitions":{"-1":{"partition":-1},"0":{"partition":0}}}}}'

        assert_equal ["0"], keep(json, [["a", 0], ["a", -1]])["topics"]["a"]["partitions"].keys
      end

      test "strings with quotes, backslashes and any script are copied as they are" do
        json = %({"name":"a \\"quoted\\\\\\" näme \\u00e9","topics":{},"brokers":{"x\\\\":{"state":"UP","req":{"a":"}"}}}})

        assert_equal 'a "quoted\\" näme é', keep(json, [])["name"]
        assert_equal({"x\\" => {"state" => "UP"}}, keep(json, [])["brokers"])
      end

      test "the output is never longer than the input and costs nothing to trim again" do
        once = StatsTrim.keep(REAL, [["orders", 1]])

        assert_operator once.bytesize, :<, REAL.bytesize / 2
        assert_equal once, StatsTrim.keep(once, [["orders", 1]])
      end

      test "[trimmed stats] the size doesn't grow with unwanted partitions, nor the time more than the text" do
        small, large = [100, 10_000].map { |count| statistics(count) }
        wanted = [["known", 7]]

        assert_equal StatsTrim.keep(small, wanted), StatsTrim.keep(large, wanted)
        assert_operator best_time { StatsTrim.keep(large, wanted) }, :<, 1.0 # some 15 MB
      end

      test "every text cut short is refused" do
        (0...REAL.bytesize).step(7) { |size| assert_nil StatsTrim.keep(REAL.byteslice(0, size), [["orders", 0]]), size }
      end

      test "text that isn't JSON is refused" do
        NOT_JSON.each { |text| assert_nil StatsTrim.keep(text, [["a", 0]]), text }
      end

      test "nesting that librdkafka never writes is refused instead of parsed" do
        assert_nil StatsTrim.keep("{\"a\":#{"[" * 100_000}", [])
        assert_nil StatsTrim.keep("{\"brokers\":{\"b\":#{"{\"a\":" * 50}1#{"}" * 50}}}", [])
      end

      test "after any change to the text the result is nil or JSON" do
        random = Random.new(3)
        3_000.times do
          damaged = REAL.b
          random.rand(1..3).times { damaged.setbyte(random.rand(damaged.bytesize), random.rand(256)) }
          trimmed = StatsTrim.keep(damaged, [["orders", 0]])

          assert trimmed.nil? || parses?(trimmed), "seed 3"
        end
      end

      private

      def keep(json, partitions)
        trimmed = StatsTrim.keep(json, partitions)
        refute_nil trimmed
        JSON.parse(trimmed)
      end

      def parses?(text)
        JSON.parse(text.scrub)
        true
      rescue JSON::ParserError
        false
      end

      # The statistics of a client that knows one topic with that many partitions.
      def statistics(count)
        one = JSON.parse(REAL)["topics"]["orders"]["partitions"]["0"]
        JSON.generate("name" => "x", "topics" => {"known" => {"topic" => "known", "partitions" => partitions(one, count)}})
      end

      def partitions(one, count)
        (0...count).to_h { |id| [id.to_s, one.merge("partition" => id)] }
      end

      def best_time
        Array.new(3) do
          started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          yield
          Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
        end.min
      end
    end
  end
end
