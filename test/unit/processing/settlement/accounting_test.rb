# frozen_string_literal: true

require "test_helper"
require "support/failing"

module Penstock
  # For every outcome of a unit and all failure settings of a route: the effects name each incomplete record of the unit once.
  class AccountingTest < TestCase
    include TestSupport::Failing

    RUNS = 600
    ERRORS = [RuntimeError, KeyError, Errno::ECONNREFUSED, NoMemoryError, Interrupted, QuarantinedError].freeze

    test "the records that the effects name add up to the unit, in order and by key" do
      random = Random.new(7_411)
      RUNS.times do |run|
        lane = random.rand(2).zero? ? in_order(random) : side_by_side(random)
        3.times { check(lane, random, run) if lane.waiting? }
      end
    end

    private

    def in_order(random)
      filled(random.rand(1..6), features(random), manual: random.rand(4).zero?, max_messages: random.rand(1..6))
    end

    def side_by_side(random)
      rolling(Array.new(random.rand(1..6)) { %w[a b].sample(random: random) }, features(random))
    end

    def features(random)
      {dead_letter_queue: queue(random), isolate: random.rand(4).positive?, retry_topics: tiers(random),
       breaker: random.rand(2).zero? && breaking(after: 2, outage_after: 1, outage_errors: ["Errno::ECONNREFUSED"])}
    end

    def queue(random)
      return if random.rand(4).zero?

      Routing::DeadLetterQueue.new(topic: ["dead", false].sample(random: random), max_retries: random.rand(0..2),
        strategy: [nil, -> {}].sample(random: random), mark_after_dispatch: [nil, true, false].sample(random: random))
    end

    def tiers(random) = random.rand(6).zero? ? Routing::RetryTopics.new("orders", [5], "dead", random.rand(0..1)) : nil

    def check(lane, random, run)
      unit = lane.next_unit
      mark(lane, unit, random)
      outcome = outcome(unit, random)
      lane.returned(unit)
      effects = effects(lane, outcome, 0)
      assert_equal unit.incomplete.offsets.sort, named(effects, lane, outcome).sort,
        "run #{run}: #{effects.map(&:class)} of #{outcome.error.class}, #{lane.topic.features}"
      assert_equal [], twice(effects, lane, outcome), "run #{run}: what is settled doesn't run again"
      perform(lane, effects)
    end

    def mark(lane, unit, random)
      return unless random.rand(3).zero?

      (unit.marks || lane.marks).mark(unit.messages.offsets.sample(random: random))
    end

    def outcome(unit, random)
      error = random.rand(4).zero? ? nil : ERRORS.sample(random: random).new
      blamed = unit.messages.offsets.sample(random: random) if error
      known = random.rand(5).positive?
      unit.messages.cursor = known ? unit.messages.offsets.index(blamed) : nil
      Processing::Outcome.new(unit: unit, error: error, blamed: blamed, finished: true, time_ms: 1,
        callback_results: (results(unit, blamed, random) if error && random.rand(5).positive?))
    end

    def results(unit, blamed, random)
      offset = random.rand(6).zero? ? unit.messages.first_offset : blamed
      made = callback_results(unit, offset, answer: [nil, [:retry], [:skip], [:dispatch, "x"]].sample(random: random))
      random.rand(5).zero? ? made.dup.tap { |one| one.letter = nil } : made
    end

    # Effects don't name records that a consumer keeps unmarked: with manual offsets, and a dead-lettered record that isn't
    # marked.
    def named(effects, lane, outcome)
      offsets = effects.flat_map { |effect| offsets_named(effect, lane, outcome) }.uniq
      offsets |= outcome.unit.incomplete.offsets if effects.empty?
      offsets & outcome.unit.incomplete.offsets
    end

    def twice(effects, lane, outcome)
      acting = effects.grep_v(Processing::Effect::Emit)
      acting.flat_map { |effect| offsets_named(effect, lane, outcome) }.tally.select { |_offset, count| count > 1 }.keys
    end

    def offsets_named(effect, lane, outcome)
      case effect
      when Processing::Effect::Complete then outcome.unit.messages.offsets.select { |offset| offset < effect.offset }
      when Processing::Effect::CompleteEach then effect.messages.map(&:offset)
      when Processing::Effect::Requeue, Processing::Effect::Redeliver then effect.messages.offsets
      when Processing::Effect::DeadLetter then [effect.request.letter.offset]
      when Processing::Effect::Emit then (effect.event == "consumer.skipped") ? [effect.payload[:offset]] : []
      else []
      end
    end

    def perform(lane, effects)
      ports = Ports.new
      effects.each { |effect| effect.perform(lane, ports) }
      ports.letters.each { |request| acknowledge(lane, request) }
      next_at(lane, 99_999_999)
      lane.holds.release(:breaker)
      lane.holds.release(:critical)
    end
  end
end
