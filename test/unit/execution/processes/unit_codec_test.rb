# frozen_string_literal: true

require "test_helper"
require "penstock/execution/processes/order_batch"
require "penstock/execution/processes/order_messages"
require "penstock/execution/processes/shared_status"
require "penstock/execution/processes/report_codec"
require "penstock/execution/processes/unit_codec"
require "support/executing"

module Penstock
  class ExecutionUnitCodecTest < TestCase
    include TestSupport::Executing

    Codec = Execution::Processes::UnitCodec
    Damaged = Execution::Processes::Frame::Damaged
    SharedStatus = Struct.new(:seen) do
      def at(unit, offset) = seen << [unit, offset]
    end

    def setup
      @topic = Topic.new(name: "orders", deserializers: Serialization::Deserializers::DEFAULT)
    end

    def body(offsets = [3, 9], **options) = Codec.encode(5, 2, unit(lane(7), offsets, attempt: 4, **options))

    def batch(order, shared_status = SharedStatus.new([])) = Execution::Processes::OrderBatch.new(order, shared_status)

    test "a unit's place and its records are decoded as they were encoded" do
      order = Codec.decode(body)
      found = batch(order)

      assert_equal [5, 2, 7, 4, :consume, false, 6_000, "orders", "adopted"], order.to_a.first(9)
      assert_equal Encoding::UTF_8, order.topic_name.encoding
      assert_equal [3, 9], [found.offset(0), found.offset(1)]
      assert_equal ["k9", '{"offset":9}', 1_009, 3], [found.key(1), found.payload(1), found.timestamp(1), found.leader_epoch(1)]
    end

    test "bytes are frozen and binary; nil and empty differ; headers keep duplicates and nil" do
      found = batch(Codec.decode(body([1], payload: nil, key: "", headers: {"a" => ["1", nil], "ü" => "\xFF".b})))

      assert_nil found.payload(0)
      assert_equal "", found.key(0)
      assert_predicate found.key(0), :frozen?
      assert_equal Encoding::BINARY, found.key(0).encoding
      assert_equal({"a" => ["1", nil], "ü" => "\xFF".b}, found.headers(0))
      assert_equal({}, batch(Codec.decode(body([1]))).headers(0))
    end

    test "a unit without records, and one at the end of its partition, are decoded" do
      assert_equal 0, batch(Codec.decode(body([], action: :eofed))).size
      assert_equal 10, batch(Codec.decode(body([3, 9], eof: 10))).eof
      assert_nil batch(Codec.decode(body)).eof
    end

    test "a unit of a collapsed row is marked as such, at the end of its partition or not" do
      found = [[nil, nil], [true, nil], [nil, 10], [true, 10]].map do |collapsed, eof|
        unit = unit(lane(7), [3, 9], attempt: 4, eof: eof).tap { |made| made.collapsed = collapsed }
        Codec.decode(Codec.encode(5, 2, unit)).to_h.values_at(:collapsed, :at_end)
      end

      assert_equal [[false, false], [true, false], [false, true], [true, true]], found
    end

    test "each step of an iteration is written before user code sees the record" do
      shared_status = SharedStatus.new([])
      found = batch(Codec.decode(body([3, 4, 5])), shared_status)
      messages = Execution::Processes::OrderMessages.new(found)
      steps = messages.map { |message| [message.offset, shared_status.seen.last] }
      messages.to_a
      messages.each { |message| steps << [message.offset, shared_status.seen.last] }

      assert_equal [[3, [5, 3]], [4, [5, 4]], [5, [5, 5]]] * 2, steps
    end

    test "a cut-off unit, or a false length, is damage" do
      whole = body([1, 2, 3], headers: {"a" => "b"})
      (0...whole.bytesize).each do |size|
        assert_raises(Damaged, "cut at #{size}") { Codec.decode(whole.byteslice(0, size)) }
      end
      lying = whole.dup
      lying[36, 4] = [0xFFFF_FFFF].pack("N")
      assert_raises(Damaged) { Codec.decode(lying) }
    end

    test "random bytes are damage or a unit, never anything else" do
      seed = Random.new_seed
      random = Random.new(seed)
      2_000.times do
        order = Codec.decode(random.bytes(random.rand(0..200)))
        assert_operator order.records.size, :<, 10, "seed #{seed}"
      rescue Damaged => error
        assert_includes error.message, "can't be read"
      end
    end

    test "a report without details is short, and one with details contains them" do
      codec = Execution::Processes::ReportCodec
      plain = codec::Report.new(9, -1, 1_500, true, {})
      full = codec::Report.new(9, 12, 0, false, {error: {class: "X"}, events: [["a", {b: 1}]]})

      assert_equal 25, codec.encode(plain).bytesize
      assert_equal [plain, full], [plain, full].map { |report| codec.decode(codec.encode(report)) }
      assert_raises(Damaged) { codec.decode(codec.encode(plain)[0, 24]) }
    end
  end
end
