# frozen_string_literal: true

require "test_helper"
require "support/damaging_proxy"
require "support/native_member"

module Penstock
  module Native
    # Fetch responses damaged by a network or a broker: no process aborts, and with `check.crcs` no wrong record is accepted
    # and none is lost.
    class DamagedFetchTest < TestCase
      include TestSupport::NativeCluster

      def teardown
        super
        @proxy&.close
      end

      def proxy(&) = @proxy = TestSupport::DamagingProxy.new(cluster.bootstrap_servers, &)

      # A member that fetches one partition through the proxy.
      def reader(name, partition, **properties)
        member(**properties).tap do |one|
          one.lanes[[name, partition]] = one.consumer.lane(name, partition)
          assert_nil one.consumer.assign([[name, partition]])
        end
      end

      def payloads(one, key) = one.batches[key].flat_map { |batch| Array.new(batch.size) { |index| batch.payload(index) } }

      test "a partition in the response that was not requested is ignored" do
        name = topic(2)
        produce(name, %w[a b c])
        count = 0
        # Partition 0 without an error, at the end of three records, becomes partition 1.
        proxy do |frame|
          frame.sub([0, 0, 3].pack("NnQ>")) { |found| ((count += 1) <= 3) ? [1, 0, 3].pack("NnQ>") : found }
        end
        one = reader(name, 0, "bootstrap.servers": @proxy.bootstrap_servers)
        one.await_records([name, 0], 3)

        assert_operator count, :>, 3
        assert_equal %w[a b c], payloads(one, [name, 0])
      end

      # The magic byte, of version 2, is the 17th of a batch; its length is before it. The payload is the 68th.
      test "an old message version and a negative size are errors, after which the partition is fetched again" do
        name = topic
        produce(name, ["record 0"])
        count = 0
        proxy do |frame|
          place = frame.index("record 0")
          if place && (count += 1) <= 2
            frame[place - 59, 4] = [-1].pack("l>")
            frame[place - 51] = "\0"
          end
          frame
        end
        one = reader(name, 0, "bootstrap.servers": @proxy.bootstrap_servers, "fetch.error.backoff.ms": 20)
        one.await_records([name, 0], 1)

        assert_operator count, :>, 2
        assert_equal ["record 0"], payloads(one, [name, 0])
      end

      # A frame ends with three counts of tagged fields: of the partition, the topic and the response.
      test "tagged fields after a partition's records that can't be read don't release the partition twice" do
        name = topic
        produce(name, ["record 0"])
        count = 0
        proxy do |frame|
          frame[-3] = "\x7F" if frame.include?("record 0") && (count += 1) <= 3
          frame
        end
        one = reader(name, 0, "bootstrap.servers": @proxy.bootstrap_servers, "fetch.error.backoff.ms": 20)
        one.await_records([name, 0], 1)
        one.close

        assert_operator count, :>=, 1
        assert_equal "record 0", payloads(one, [name, 0]).first
      end

      # The name of a host is preceded by its length plus one; 0 is null.
      test "metadata that name a broker without a host are asked for again" do
        name = topic
        produce(name, ["record 0"])
        count = 0
        host = "127.0.0.1"
        @proxy = TestSupport::DamagingProxy.new(cluster.bootstrap_servers, api: 3) do |frame|
          frame.sub("#{(host.size + 1).chr}#{host}".b) { |found| ((count += 1) <= 2) ? "\0".b : found }
        end
        one = reader(name, 0, "bootstrap.servers": @proxy.bootstrap_servers)
        one.await_records([name, 0], 1)

        assert_operator count, :>, 2
        assert_equal ["record 0"], payloads(one, [name, 0])
      end

      # Places of array counts. A count is stored plus one; 0 is no array. The topic's name is followed by its id, by whether it
      # is internal, by the number of partitions, and by the error, number, leader and epoch of the first.
      def counts(frame, name)
        topic = frame.index(name) or return [9]
        partitions = topic + name.bytesize + 17
        [9, topic - 4, partitions, partitions + 15]
      end

      test "metadata without the array of brokers, topics, partitions or replicas are asked for again" do
        name = topic
        produce(name, ["record 0"])
        damaged = {}
        @proxy = TestSupport::DamagingProxy.new(cluster.bootstrap_servers, api: 3) do |frame|
          counts(frame, name).each_with_index do |place, index|
            next if damaged[index]
            damaged[index] = frame.getbyte(place)
            frame.setbyte(place, 0)
            break
          end
          frame
        end
        one = reader(name, 0, "bootstrap.servers": @proxy.bootstrap_servers)
        one.await_records([name, 0], 1)

        assert_equal({0 => 2, 1 => 2, 2 => 2, 3 => 2}, damaged, "these are the counts of one element each")
        assert_equal ["record 0"], payloads(one, [name, 0])
      end

      test "with check.crcs a damaged batch is reported and fetched again, with all records after it" do
        name = topic
        sent = Array.new(6) { |index| "record #{index} #{"x" * 50}" }
        sent.each { |payload| produce(name, [payload]) } # a batch each
        count = 0
        proxy { |frame| frame.sub("record 2") { |found| ((count += 1) <= 2) ? "recorD 2" : found } }
        one = reader(name, 0, "bootstrap.servers": @proxy.bootstrap_servers, "check.crcs": true, "fetch.error.backoff.ms": 20)
        one.await_records([name, 0], 6)

        assert_operator count, :>, 2
        assert_equal sent, payloads(one, [name, 0])
        assert_equal (0..5).to_a, one.offsets[[name, 0]]
        assert_match(/CRC32C/, one.batches[[name, 0]].filter_map(&:error).to_s)
      end
    end
  end
end
