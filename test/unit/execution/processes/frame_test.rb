# frozen_string_literal: true

require "test_helper"
require "penstock/execution/processes/frame"

module Penstock
  class ExecutionFrameTest < TestCase
    Frame = Execution::Processes::Frame

    # A generator that reports its seed, so that a failure can be repeated.
    def random = @random ||= Random.new(@seed = Random.new_seed)

    def parse(*pieces)
      parser = Frame::Parser.new
      found = []
      pieces.each { |piece| parser.feed(piece) { |type, body| found << [type, body] } }
      [found, parser]
    end

    test "frames are read as they were written, however the stream is cut" do
      frames = [[:unit, "a" * 70_000], [:stop, ""], [:done, random.bytes(1_000)], [:request, "\x00PS"]]
      stream = frames.map { |type, body| Frame.encode(type, body.b) }.join
      200.times do
        cuts = Array.new(random.rand(1..20)) { random.rand(0..stream.bytesize) }.sort
        pieces = [0, *cuts].zip([*cuts, stream.bytesize]).map { |from, to| stream.byteslice(from, to - from) }
        found, parser = parse(*pieces)
        assert_equal frames.map { |type, body| [type, body.b] }, found, "seed #{@seed}"
        assert_predicate parser, :empty?
      end
    end

    test "a stream that ends within a frame is recognized" do
      stream = Frame.encode(:done, "abc")
      (1...stream.bytesize).each do |size|
        found, parser = parse(stream.byteslice(0, size))
        assert_empty found
        refute_predicate parser, :empty?
      end
    end

    test "any garbage counts as damage; nothing is allocated for a false length" do
      500.times do
        bytes = random.bytes(random.rand(12..300))
        assert_raises(Frame::Damaged, "seed #{@seed}") { parse(bytes) } unless bytes.start_with?("PS\x01".b)
      end
      error = assert_raises(Frame::Damaged) { parse([Frame::MAGIC, 1, 0, 0xFFFF_FFFF, 0].pack("nCCNN")) }
      assert_includes error.message, "at most"
    end

    test "one flipped bit is damage or a frame that isn't complete, and never another frame" do
      stream = Frame.encode(:done, "body of a frame")
      (stream.bytesize * 8).times do |bit|
        flipped = stream.dup
        flipped.setbyte(bit / 8, flipped.getbyte(bit / 8) ^ (1 << (bit % 8)))
        found = begin
          parse(flipped).first
        rescue Frame::Damaged
          []
        end
        assert_empty found.reject { |_type, body| body == "body of a frame" }, "bit #{bit}"
      end
    end

    test "a megabyte passes, a frame after a damaged one doesn't" do
      big = random.bytes(1024 * 1024)
      found, = parse(*Frame.encode(:unit, big).scan(/.{1,65536}/mn))
      assert_equal [[:unit, big]], found
      seen = []
      assert_raises(Frame::Damaged) do
        Frame::Parser.new.feed("#{Frame.encode(:stop)}garbage-garbage#{Frame.encode(:stop)}") { |type, _body| seen << type }
      end
      assert_equal [:stop], seen
    end

    test "an unknown version and an unknown type are named" do
      assert_includes assert_raises(Frame::Damaged) { parse([Frame::MAGIC, 2, 0, 0, 0].pack("nCCNN")) }.message, "version 2"
      assert_includes assert_raises(Frame::Damaged) { parse([Frame::MAGIC, 1, 99, 0, 0].pack("nCCNN")) }.message, "type 99"
    end

    test "a body that isn't a value is damage" do
      ["", "x", "\x04\x08", "\x04\x08o:\x08Nope\x00", random.bytes(50)].each do |body|
        assert_raises(Frame::Damaged, body.inspect) { Frame.value(body.b) }
      end
    end
  end
end
