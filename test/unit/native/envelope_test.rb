# frozen_string_literal: true

require "test_helper"
require "penstock/native/envelope"
require "support/reference_envelope"

module Penstock
  module Native
    class EnvelopeTest < TestCase
      Reference = TestSupport::ReferenceEnvelope

      test "decoding returns what was encoded" do
        text = encode(clean: true, completed: [[44, 50], [51, 52]], attempts: {42 => 3, 60 => 1}, user_metadata: "säge")
        decoded = decode(text)

        assert_equal [true, [[44, 50], [51, 52]], {42 => 3, 60 => 1}, "säge", nil],
          decoded.to_h.values_at(:clean, :completed, :attempts, :user_metadata, :ignored)
        assert_predicate text, :ascii_only?
      end

      test "the smallest envelope means that the owner has not ended cleanly" do
        decoded = decode(encode)

        assert_equal [false, [], {}, nil, nil], decoded.to_h.values_at(:clean, :completed, :attempts, :user_metadata, :ignored)
      end

      test "absent metadata counts as none, not as ignored" do
        [nil, ""].each { |text| assert_equal [nil, nil, nil], decode(text).to_h.values_at(:clean, :user_metadata, :ignored) }
      end

      test "an empty user string isn't the same as none" do
        assert_equal "", decode(encode(user_metadata: "")).user_metadata
      end

      test "user bytes that aren't text are returned as bytes" do
        user = "\xff\x00\xfe".b

        assert_equal user, decode(encode(user_metadata: user)).user_metadata
      end

      test "another program's string is returned as the user's" do
        %w[hello {"lag":1} pstk pstk: pstkx1:AAAA pstk0:AAAA].each do |text|
          assert_equal [:foreign, text, nil], decode(text).to_h.values_at(:ignored, :user_metadata, :clean), text
        end
        assert_equal :foreign, decode("\xff\0".b).ignored
      end

      test "a newer version is ignored" do
        %w[pstk2:AAAA pstk10: pstk99999999999999999999:x].each { |text| assert_equal :newer, decode(text).ignored, text }
      end

      test "an unknown section that must be understood makes the version newer, any other is skipped" do
        assert_equal [:newer, nil], decode(with_section(200, "later")).to_h.values_at(:ignored, :user_metadata)
        assert_equal [nil, true], decode(with_section(100, "later")).to_h.values_at(:ignored, :clean)
      end

      test "of an envelope committed with another offset only the user's part counts" do
        text = encode(clean: true, completed: [[44, 50]], user_metadata: "mine")
        decoded = Envelope.decode(text, base: 43, topic: "orders", cluster_id: "cluster")

        assert_equal [:other_offset, nil, [], "mine"], decoded.to_h.values_at(:ignored, :clean, :completed, :user_metadata)
      end

      test "of an envelope of another topic or cluster only the user's part counts" do
        text = encode(clean: true, user_metadata: "mine")
        [%w[payments cluster], %w[orders mirror], ["orders", nil]].each do |topic, cluster|
          decoded = Envelope.decode(text, base: 42, topic: topic, cluster_id: cluster)

          assert_equal [:other_topic, nil, "mine"], decoded.to_h.values_at(:ignored, :clean, :user_metadata)
        end
      end

      test "cluster and topic aren't confused" do
        text = Envelope.encode(base: 1, topic: "borders", cluster_id: "a")

        assert_equal :other_topic, Envelope.decode(text, base: 1, topic: "orders", cluster_id: "ab").ignored
      end

      test "a text that lost a byte, got one or has one changed is damaged or another program's" do
        text = encode(clean: true, completed: [[44, 50], [60, 61]], attempts: {43 => 2}, user_metadata: "mine")
        text.bytesize.times do |index|
          variants = [text.dup.tap { |copy| copy[index] = "" }, text.dup.insert(index, "A"), text[0, index],
            text.dup.tap { |copy| copy[index] = (copy[index] == "B") ? "C" : "B" }]
          (variants - [text, ""]).each { |damaged| assert_harmless decode(damaged), damaged }
        end
      end

      test "random damage never raises and never counts" do
        random = Random.new(7)
        text = encode(clean: true, completed: [[44, 50]], user_metadata: "mine")
        5_000.times do
          damaged = text.b
          random.rand(1..4).times { damaged.setbyte(random.rand(damaged.bytesize), random.rand(256)) }
          assert_harmless decode(damaged), damaged unless damaged == text.b
        end
      end

      test "sections that contradict each other are damaged although the checksum fits" do
        bad = [
          section(1, "\x00\x05"), section(1, "\x01\x00"), section(1, "\x01"), section(1, "\x81"), section(1, "\x81\x00\x01"),
          section(1, ("\xff" * 8) + "\x7f\x01"), section(2, "\x01"), section(2, "\x00\x01"), section(2, ""),
          section(3, "\x01"), section(3, "\x00\xff\xff\xff\xff\x1f"), section(4, ""), section(4, "\x00\x01"),
          section(1, "\x01\x01") + section(1, "\x01\x01"), section(9, "a") + section(1, "\x01\x01"), "\x01", "\x01\x00\x09ab"
        ]

        bad.each { |body| assert_equal :damaged, decode(sealed(body.b)).ignored, body.inspect }
      end

      test "runs near the highest offsets don't overflow" do
        last = (2**63) - 1
        text = Envelope.encode(base: last - 10, topic: "orders", completed: [[last - 5, last]])

        assert_equal [[last - 5, last]], Envelope.decode(text, base: last - 10, topic: "orders").completed
      end

      test "C and the reference write the same bytes for the same facts" do
        random = Random.new(11)
        150.times do
          facts = random_facts(random)

          assert_equal Reference.encode(**facts), Envelope.encode(**facts), facts.inspect
          assert_same_facts facts
        end
      end

      test "the smaller of runs and bitmap is written" do
        dense = Envelope.encode(base: 0, topic: "t", completed: (1..500).map { |index| [index * 2, (index * 2) + 1] })
        sparse = Envelope.encode(base: 0, topic: "t", completed: [[1_000_000, 2_000_000]])

        assert_operator dense.bytesize, :<, 250
        assert_operator sparse.bytesize, :<, 50
      end

      test "completed offsets that don't fit are omitted and reported, and no commit is too large for a broker" do
        runs = (1..2_000).map { |index| [index * 1_000, (index * 1_000) + 1] }
        [{}, {attempts: {5 => 1}}, {user_metadata: "x" * Envelope::USER_MAX_BYTES}].each do |facts|
          written = Envelope.write(base: 0, topic: "t", completed: runs, **facts)
          decoded = Envelope.decode(written.text, base: 0, topic: "t")

          assert_operator written.text.bytesize, :<=, Envelope::MAX_BYTES
          assert_empty decoded.completed - runs
          assert_equal [2_000 - decoded.completed.size, facts.fetch(:attempts, {}).size, facts[:user_metadata]],
            [written.left_out_offsets, written.left_out_attempts, decoded.user_metadata]
        end
      end

      test "runs are written up to where they become long, then a bitmap; both are read as one" do
        runs = [[1, 1_000_000], *(1_000_001..1_000_900).step(2).map { |offset| [offset, offset + 1] }]
        written = Envelope.write(base: 0, topic: "t", completed: runs)

        assert_predicate written, :whole?
        assert_operator written.text.bytesize, :<, 220
        assert_equal runs, Envelope.decode(written.text, base: 0, topic: "t").completed
      end

      test "runs and bitmaps that overlap or touch, from another writer, are joined" do
        text = sealed(section(1, "\x02\x03\x02\x02") + section(2, "\x04\x0f\x01"))
        # 44...47 and 49...51 as runs; 46...50 and 54 as bits

        assert_equal [[44, 51], [54, 55]], decode(text).completed
      end

      test "crashes and counts of owners that didn't end cleanly are decoded" do
        decoded = decode(encode(unclean_adoptions: 2, crashes: {42 => 1, 900 => 2}, attempts: {50 => 3}))

        assert_equal [2, {42 => 1, 900 => 2}, {50 => 3}], decoded.to_h.values_at(:unclean_adoptions, :crashes, :attempts)
        assert_equal [1, {}], decode(encode(unclean_adoptions: 1)).to_h.values_at(:unclean_adoptions, :crashes)
        assert_equal [0, {}], decode(encode).to_h.values_at(:unclean_adoptions, :crashes)
      end

      test "where the broker accepts less, the map and then the attempts share the remaining room" do
        facts = {attempts: (0...50).to_h { |index| [index * 2, 1] }, user_metadata: "mine", crashes: {7 => 1},
                 completed: (1..300).map { |index| [index * 50, (index * 50) + 1] }}
        [4_096, 2_048, 1_024, 512, 100, 64, 0].each do |budget|
          written = Envelope.write(base: 0, topic: "t", budget: budget, **facts)
          decoded = Envelope.decode(written.text, base: 0, topic: "t")

          assert_operator written.text.bytesize, :<=, [budget, 38].max
          assert_equal ["mine", nil], decoded.to_h.values_at(:user_metadata, :ignored)
          assert_equal [300, 50, 1], [written.left_out_offsets + decoded.completed.size,
            written.left_out_attempts + decoded.attempts.size, written.left_out_crashes + decoded.crashes.size]
          assert_empty decoded.attempts unless written.left_out_offsets.zero?
        end
      end

      test "of completed offsets that don't fit, no other division between runs and bitmap would cover more" do
        random = Random.new(17)
        60.times do
          runs = random_runs(random, 0) + [[40_000, 40_001], [40_002, 40_100], [40_101, 40_102]]
          [60, 75, 90, 120].each do |budget|
            written = Envelope.write(base: 0, topic: "t", completed: runs, budget: budget)
            most = Reference.most_covered(0, runs, ((budget - 6) * 3 / 4) - 17)

            assert_equal most, runs.sum { |from, to| to - from } - written.left_out_offsets, [budget, runs].inspect
            assert_operator written.text.bytesize, :<=, budget
          end
        end
      end

      test "the user's share is checked before anything is written" do
        error = assert_raises(ArgumentError) { encode(user_metadata: "x" * (Envelope::USER_MAX_BYTES + 1)) }

        assert_match(/2049 bytes; at most 2048 are allowed/, error.message)
      end

      test "facts that don't ascend above the base are refused" do
        [{completed: [[42, 43]]}, {completed: [[44, 44]]}, {completed: [[44, 46], [46, 47]]}, {completed: [[50, 51], [44, 45]]},
          {attempts: {41 => 1}}, {attempts: {50 => 1, 44 => 1}}, {base: -1}].each do |facts|
          assert_raises(ArgumentError, facts.inspect) { Envelope.encode(base: 42, topic: "t", **facts) }
        end
      end

      private

      def encode(**facts)
        Envelope.encode(base: 42, topic: "orders", cluster_id: "cluster", **facts)
      end

      def decode(text)
        Envelope.decode(text, base: 42, topic: "orders", cluster_id: "cluster")
      end

      def assert_harmless(decoded, text)
        assert_includes %i[foreign damaged newer], decoded.ignored, text.inspect
        assert_equal [nil, [], {}], decoded.to_h.values_at(:clean, :completed, :attempts), text.inspect
      end

      def section(type, body)
        Reference.section(type, body.b)
      end

      # A body with a matching checksum.
      def sealed(body)
        binary = [1, 42, Reference.place("cluster", "orders")].pack("CQ>N") + body
        crc = [Reference.crc32c("pstk1:#{binary}".b)].pack("N")
        "pstk1:#{[binary + crc].pack("m0").tr("+/", "-_").delete("=")}"
      end

      def with_section(type, body)
        sealed(section(type, body))
      end

      def random_facts(random)
        base = random.rand(2**random.rand(1..60))
        {
          base: base, topic: "topic-#{random.rand(10)}", clean: random.rand(2) == 1,
          cluster_id: [nil, "c-#{random.rand(9)}"].sample(random: random),
          completed: random_runs(random, base), attempts: random_attempts(random, base),
          unclean_adoptions: random.rand(3), crashes: random_attempts(random, base),
          user_metadata: [nil, random.bytes(random.rand(40))].sample(random: random)
        }
      end

      def random_runs(random, base)
        Array.new(random.rand(0..30)) do
          from = base + random.rand(1..(2**random.rand(1..9)))
          [from, base = from + random.rand(1..(2**random.rand(1..9)))]
        end + random_bits(random, base)
      end

      def random_bits(random, base)
        Array.new([0, 0, random.rand(100)].sample(random: random)) do
          from = base + random.rand(1..3)
          [from, base = from + random.rand(1..2)]
        end
      end

      def random_attempts(random, base)
        random.rand(0..5).times.to_h do
          offset = base + random.rand(0..50)
          base = offset + 1
          [offset, random.rand(1..300)]
        end
      end

      def assert_same_facts(facts)
        text = Envelope.encode(**facts)
        mine = Envelope.decode(text, base: facts[:base], topic: facts[:topic], cluster_id: facts[:cluster_id])
        theirs = Reference.decode(text)

        assert_nil mine.ignored
        same = %i[clean completed attempts unclean_adoptions crashes]
        assert_equal facts.values_at(*same), mine.to_h.values_at(*same)
        assert_equal facts.values_at(*same), theirs.values_at(*same)
        assert_equal [facts[:user_metadata]&.b] * 2, [mine.user_metadata&.b, theirs[:user_metadata]&.b]
      end
    end
  end
end
