# frozen_string_literal: true

require "test_helper"
require "penstock/swarm/frame"

module Penstock
  module Swarm
    class FrameTest < TestCase
      # `PENSTOCK_FUZZ_FRAMES=1000000` for a long run.
      FRAMES = Integer(ENV.fetch("PENSTOCK_FUZZ_FRAMES", "20000"))
      MESSAGES = [
        Message::Ready.new({state: "running", member: false}), Message::Stopping.new(60_000), Message::Stopped.new(0),
        Message::Healthy.new({rss_bytes: 1 << 40, loops: [["app_0", true]]}), Message::Unhealthy.new("a \u{1F422} stands", {}),
        Message::Warm.new(12), Message::Failed.new([["swarm", "no", nil]]), Message::Spawn.new(1, 0),
        Message::Spawned.new(1, nil, "")
      ].freeze

      def parse(*pieces)
        parser = Frame::Parser.new
        found = []
        pieces.each { |piece| parser.feed(piece) { |message| found << message } }
        [found, parser]
      end

      def bytes = MESSAGES.map { |message| Frame.encode(message) }.join

      test "messages are read as they were written, byte by byte too" do
        assert_equal MESSAGES, parse(bytes).first
        found, parser = parse(*bytes.each_char)

        assert_equal MESSAGES, found
        assert_equal 0, parser.skipped_bytes
      end

      test "a message whose handler raises isn't handled again, and the next one is" do
        parser = Frame::Parser.new
        assert_raises(KeyError) { parser.feed(bytes) { raise KeyError } }
        found = []
        parser.feed("") { |message| found << message }

        assert_equal MESSAGES.drop(1), found
      end

      test "any text is made fit for a message, cut between two characters" do
        {"\u65e5\u672c" => "\u65e5", "abcdef" => "abcde", "a\xE9b" => "a\uFFFDb", "\u65e5\u672c".b => "\u65e5",
         "h\u00e9".encode(Encoding::ISO_8859_1) => "h\u00e9", "\xFF\x00".b => "\uFFFD\u0000", :a => "a"}.each do |text, fit|
          assert_equal fit, Frame.text(text, 5)
          bytes = Frame.encode(Message::Spawned.new(1, nil, Frame.text(text, 5)))
          assert_equal [Message::Spawned.new(1, nil, fit)], parse(bytes).first
        end
      end

      test "half a frame at the end is no message, and no error" do
        cut = bytes[0..-2]

        assert_equal MESSAGES[0..-2], parse(cut).first
        assert_equal MESSAGES, parse(cut, bytes[-1]).first
      end

      test "bytes that aren't a frame are skipped: text, half magics, a damaged frame" do
        damaged = Frame.encode(MESSAGES.first).tap { |frame| frame.setbyte(12, frame.getbyte(12) ^ 1) }
        found, parser = parse("a line\nPWPPW".b, bytes, damaged, "P", bytes, "PP", bytes)

        assert_equal MESSAGES * 3, found
        assert_equal "a line\nPWPPW".bytesize + damaged.bytesize + 3, parser.skipped_bytes
      end

      test "a length beyond the longest frame is garbage: the parser doesn't wait for it" do
        oversize = [Frame::MAGIC, 1, 1, 0xffff, 0].pack(Frame::HEADER)

        assert_equal MESSAGES, parse(oversize, bytes).first
        assert_equal MESSAGES, parse("x".b * (1 << 20), bytes).first
      end

      test "frames of another version, an unknown type or with a body of another shape are skipped whole" do
        body = "[1]"
        strange = [[2, 3], [1, 99], [1, 2]].map do |version, type|
          [Frame::MAGIC, version, type, body.bytesize, Zlib.crc32(body)].pack(Frame::HEADER) + body
        end
        nonsense = ["{", "7", "[1,2,3]"].map { |text| [Frame::MAGIC, 1, 3, text.bytesize, Zlib.crc32(text)].pack(Frame::HEADER) + text }
        found, parser = parse(*strange, *nonsense, bytes)

        assert_equal MESSAGES, found
        assert_equal 0, parser.skipped_bytes
      end

      test "a message that the kernel might cut is refused when it is encoded" do
        error = assert_raises(ArgumentError) { Frame.encode(Message::Unhealthy.new("x" * Frame::MAX_BODY, {})) }

        assert_match(/at most #{Frame::MAX_BODY}/, error.message)
        assert_operator Frame.encode(Message::Unhealthy.new("x" * 4_000, {})).bytesize, :<=, Frame::MAX_BYTES
      end

      test "no bytes raise, and frames between them are all found (#{FRAMES} random, cut and changed ones)" do
        random = Random.new(seed = Integer(ENV.fetch("PENSTOCK_FUZZ_SEED", "1")))
        parser = Frame::Parser.new
        sent = found = 0
        FRAMES.times do
          frame = Frame.encode(MESSAGES.sample(random: random))
          whole = random.rand(3).positive?
          sent += 1 if whole
          frame = spoilt(frame, random) unless whole
          cut = random.rand(frame.bytesize + 1)
          [frame.byteslice(0, cut), frame.byteslice(cut..)].each { |piece| parser.feed(piece) { found += 1 } }
        end
        # A damaged frame may have announced up to this many bytes: they are read before it is recognized as damaged.
        parser.feed("\0".b * Frame::MAX_BYTES) { found += 1 }

        assert_operator found, :>=, sent, "seed #{seed}"
        assert_operator found, :<=, FRAMES, "seed #{seed}"
      end

      def spoilt(frame, random)
        case random.rand(4)
        when 0 then random.bytes(random.rand(40))
        when 1 then frame.byteslice(0, random.rand(frame.bytesize))
        when 2 then frame.dup.tap { |copy| copy.setbyte(random.rand(copy.bytesize), random.rand(256)) }
        else frame.byteslice(0, 6) + random.bytes(random.rand(30))
        end
      end
    end
  end
end
