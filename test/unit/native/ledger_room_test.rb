# frozen_string_literal: true

require "test_helper"
require "penstock/native/ledger"
require "penstock/native/envelope"

module Penstock
  module Native
    # The size of a commit's metadata: never more than brokers accept, never a false claim, and nothing omitted as long as
    # admission stops at a pressure of 0.75.
    class LedgerRoomTest < TestCase
      STOP = 0.75
      # The worst order for the map: completed offsets lie as far apart as possible.
      ORDERS = {
        "every second record first" => ->(open, _random) { open.each_slice(2).filter_map(&:last) },
        "a random half" => ->(open, random) { open.sample(open.size / 2, random: random) },
        "two of three" => ->(open, _random) { open.each_slice(3).flat_map { |slice| slice.drop(1) } },
        "all but the first" => ->(open, _random) { open.drop(1) },
        "the last half" => ->(open, _random) { open.last(open.size / 2) },
        "one in fifty stays" => ->(open, random) { open.drop(1).reject { random.rand(50).zero? } }
      }.freeze

      test "a random half of 100,000 offsets incomplete and 1,000 attempts: within 4,096 bytes, and no false claim" do
        random = Random.new(1)
        ledger = filled(100_000)
        assert_true_and_small ledger, ledger.incomplete_offsets.drop(1).sample(50_000, random: random), attempts: 1_000
      end

      test "every second of 100,000 offsets incomplete: within 4,096 bytes, and no false claim" do
        ledger = filled(100_000)
        assert_true_and_small ledger, (1..99_999).step(2).to_a, attempts: 1_000
      end

      test "one poisoned key: everything completed after it is written, in a few bytes" do
        ledger = filled(100_000)
        written = assert_true_and_small(ledger, (1..99_999).to_a, attempts: 1)

        assert_predicate written, :whole?
        assert_operator written.text.bytesize, :<, 60
      end

      test "zipf keys, the hottest slow: within 4,096 bytes, and no false claim" do
        random = Random.new(2)
        ledger = filled(100_000)
        cold = ledger.incomplete_offsets.drop(1).reject { random.rand < 0.08 }

        assert_true_and_small ledger, cold, attempts: 200
      end

      [1_000, 10_000].each do |window|
        ORDERS.each_key do |order|
          test "a window of #{window} that stops at a pressure of 0.75 omits nothing: #{order}" do
            [1, 2, 40].each do |spread|
              ledger = Ledger.new(0)
              20.times { |round| round_of(ledger, window, spread, ORDERS[order], Random.new(round)) }
            end
          end
        end
      end

      test "a poisoned key doesn't stop the lane: the window after it stays open over a million records" do
        [1_000, 10_000].each do |window|
          ledger = Ledger.new(0)
          ledger.admit(0, window)
          (1_000_000 / window).times do
            ledger.complete_many(ledger.incomplete_offsets.drop(1))
            ledger.admit(ledger.tail, ledger.tail + window - 1)

            assert_operator ledger.pressure, :<, STOP
          end
          assert_predicate encoded(ledger, attempts: {0 => 5}), :whole?
        end
      end

      test "two hundred keys that fail one after another while others continue don't stop the lane" do
        random = Random.new(3)
        ledger = Ledger.new(0)
        ledger.admit(0, 1_000)
        200.times do
          stuck = ledger.incomplete_offsets(ledger.incomplete / 2).last
          ledger.complete_many(ledger.incomplete_offsets.drop(1).sample(900, random: random) - [stuck])
          ledger.complete_through(ledger.base + 1) if ledger.incomplete > 1_000
          ledger.admit(ledger.tail, ledger.tail + 1_000 - ledger.incomplete) if ledger.incomplete < 1_000
        end

        assert_operator ledger.pressure, :<, STOP
      end

      test "metadata never takes more than was predicted, in any order of completing" do
        400.times do |seed|
          random = Random.new(seed)
          ledger = scattered(random)
          until ledger.dry?
            foretold = ledger.encoded_size
            written = Envelope.write(base: ledger.base, topic: "t", completed: ledger)

            assert_operator written.text.bytesize, :<=, foretold, "seed #{seed}"
            ledger.complete_many(some_of(ledger, random))
            now = ledger.encoded_size

            assert_operator now, :<=, foretold + 16, "seed #{seed}: more than before, and nothing was admitted"
          end
        end
      end

      test "a log with few records in many offsets stops the lane before anything is omitted" do
        ledger = Ledger.new(0)
        admit_some(ledger, 5_000, Random.new(4)) while ledger.incomplete < 10_000 && ledger.pressure < STOP

        assert_operator ledger.incomplete, :<, 3_000
        assert_operator ledger.incomplete, :>=, 1_000
      end

      test "gaps of a compacted log are not stored as completed runs and take no room" do
        ledger = Ledger.new(0)
        ledger.admit(0, 1_000_000, (0...1_000).map { |index| index * 1_000 })

        assert_equal [[], true], [ledger.ranges, ledger.complete?(1)]
        assert_operator encoded(ledger).text.bytesize, :<, 40
      end

      test "without facts to store there is no pressure, however small the budget" do
        ledger = Ledger.new(0)
        ledger.budget = 10
        assert_in_delta 0.0, ledger.pressure(user_bytes: 2_000)
        ledger.admit(0, 10)

        assert_operator ledger.pressure, :>=, STOP
        ledger.complete_through(10)
        assert_in_delta 0.0, ledger.pressure
      end

      test "a halved budget is respected, and stops admission sooner" do
        ledger = filled(5_000)
        before = ledger.pressure
        ledger.budget /= 2
        ledger.complete_many((1...5_000).step(2).to_a)

        assert_operator ledger.pressure, :>, before * 2
        assert_operator encoded(ledger, budget: ledger.budget).text.bytesize, :<=, 2_048
      end

      private

      def filled(count)
        Ledger.new(0).tap { |ledger| ledger.admit(0, count) }
      end

      # Restored runs, dense and sparse takes.
      def scattered(random)
        ledger = Ledger.new(random.rand(1_000))
        at = ledger.tail
        ledger.restore(Array.new(random.rand(20)) { [at += random.rand(1..300), at += random.rand(1..300)] }
          .slice_when { |left, right| left[1] != right[0] }.map { |runs| [runs.first[0], runs.last[1]] })
        random.rand(1..12).times { admit_some(ledger, [1, 1, 2, 30, 3_000, 500_000].sample(random: random), random) }
        ledger
      end

      def some_of(ledger, random)
        open = ledger.incomplete_offsets
        return open.each_slice(2).map(&:last) if random.rand(3).zero?
        random.rand(4).zero? ? open.first(1 + random.rand(50)) : open.sample(1 + random.rand(open.size), random: random)
      end

      def encoded(ledger, attempts: {}, budget: Envelope::MAX_BYTES)
        Envelope.write(base: ledger.base, topic: "t", completed: ledger, attempts: attempts, budget: budget)
      end

      def assert_true_and_small(ledger, completed, attempts:)
        ledger.complete_many(completed)
        tried = ledger.incomplete_offsets.each_slice([ledger.incomplete / attempts, 1].max).map(&:first).first(attempts)
        written = encoded(ledger, attempts: tried.to_h { |offset| [offset, 3] })
        said = Envelope.decode(written.text, base: ledger.base, topic: "t")

        assert_operator written.text.bytesize, :<=, Envelope::MAX_BYTES
        claimed = said.completed.flat_map { |from, to| (from...to).to_a }
        assert claimed.all? { |offset| ledger.complete?(offset) }, "claims an offset that isn't complete"
        assert_equal completed.size, claimed.size + written.left_out_offsets
        assert_empty said.attempts.keys - tried
        written
      end

      # Fills the window as far as pressure allows, then completes records in the given order, checking at each tenth.
      def round_of(ledger, window, spread, order, random)
        admit_some(ledger, spread, random) while ledger.incomplete < window && ledger.pressure < STOP
        completed = order.call(ledger.incomplete_offsets, random)
        completed.each_slice([completed.size / 4, 1].max) do |some|
          ledger.complete_many(some)
          next if encoded(ledger).whole?

          flunk "omitted at #{ledger.incomplete} of #{window}, spread #{spread}, pressure #{ledger.pressure}"
        end
        assert_predicate encoded(ledger), :whole?
        ledger.complete_through(ledger.base + (ledger.span / 3))
      end

      def admit_some(ledger, spread, random)
        at = ledger.tail - 1
        offsets = Array.new(100) { at += 1 + random.rand(spread) }
        ledger.admit(ledger.tail, at + 1, offsets)
      end
    end
  end
end
