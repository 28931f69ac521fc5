# frozen_string_literal: true

require "penstock/processing/failure/callback_results"
require "penstock/processing/failure/policy"
require "penstock/processing/failure/breaker"
require "penstock/processing/settlement/breaker"
require "penstock/processing/settlement/dead_letter_after"
require "penstock/processing/settlement/skip"
require "penstock/runtime/shared_breaker"
require "penstock/routing/features/backoff_for"
require "penstock/routing/features/dead_letter_queue"
require "penstock/routing/features/retry_topics"
require_relative "lanes"
require_relative "virtual_clock"

module Penstock
  module TestSupport
    # Lanes whose records fail until they are dead-lettered, settled by the deciders in the topic pipeline's order.
    module Failing
      include Lanes

      # Ports that also record what was to be sent.
      class Ports < Lanes::Ports
        def letters = @letters ||= []
        def dead_letter(_lane, request) = letters << request
      end

      # Other methods of a lane's route that are called.
      module Grouped
        def consumer_group_id = "group"
      end

      def route(**options) = super.extend(Grouped)

      def dead_letters(max_retries, topic: "dead", **options)
        {dead_letter_queue: Routing::DeadLetterQueue.new(topic: topic, max_retries: max_retries, **options), breaker: false}
      end

      def filled(count, features, manual: false, **options)
        lane(route(features: features, manual: manual, **options), committed: 0).tap { |lane|
          admit(lane, batch(0...count, from: 0))
        }
      end

      # @return [Routing::Breaker] that opens when all of that many fresh records fail alike
      def breaking(after: 20, share: 1, outage_after: 3, outage_errors: [], limit: 300_000)
        Routing::Breaker.new(after, share, outage_after, outage_errors, limit)
      end

      # @param keys [Array<String>] of the records
      # @param max [Integer] records of a unit
      def rolling(keys, features, max: 1, **options)
        division = Processing::Division::ByKey.new(max: max, width: 8, window_records: 100, window_bytes: 1 << 20)
        topic = route(features: features, **options)
        lane = Processing::Lane.new(topic: topic, topic_name: topic.name, partition: 0, epoch: 1, division: division)
        lane.adopt(0)
        rows = keys.each_with_index.map { |key, offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: key) }
        lane.ledger.admit(0, keys.size, nil)
        lane.admit(Messages.new(Messages::MemoryBatch.new("orders", 0, rows, from: 0)))
        lane
      end

      def breaker_of(lane)
        (@breakers ||= {}.compare_by_identity)[lane.topic] ||=
          Runtime::SharedBreaker.new(Processing::Failure::Breaker.new(policy_of(lane).breaker,
            Processing::Backoff.new(1_000, 30_000, true), policy_of(lane).family), @clock || VirtualClock.new)
      end

      def policy_of(lane) = (@policies ||= {}.compare_by_identity)[lane.topic] ||= Processing::Failure::Policy.new(lane.topic)

      # The deciders in the order that delivery.md documents: lost, critical, skip, breaker, dead letter, retry,
      # advance.
      def deciders(lane)
        policy = policy_of(lane)
        settlement = Processing::Settlement
        [settlement::Outdated.new, settlement::Interrupt.new, settlement::Critical.new, settlement::CallWithoutRecords.new,
          settlement::Skip.new(policy), (settlement::Breaker.new(breaker_of(lane), policy) if policy.breaker),
          settlement::DeadLetterAfter.new(policy), settlement::Retry.new(policy), settlement::FlowRequested.new,
          settlement::Advance.new].compact
      end

      def effects(lane, outcome, now)
        lane.take_marks(nil, outcome.unit)
        context = Processing::Settlement::Context.new(lane: lane, now: now, critical_errors: [],
          backoff: Processing::Backoff.new(1_000, 30_000, true))
        deciders(lane).each { |decider| decider.call(outcome, context)&.then { |effects| return effects } }
      end

      def settled(lane, unit, error: nil, blamed: nil, results: nil, flow: nil, now: 0, cursor: true)
        lane.returned(unit)
        unit.messages.cursor = (0...unit.messages.size).find { |index| unit.messages.offset_at(index) == blamed } if cursor
        outcome = Processing::Outcome.new(unit: unit, error: error, blamed: blamed, callback_results: results, flow: flow,
          finished: true, time_ms: 1)
        Ports.new.tap { |ports| effects(lane, outcome, now).each { |effect| effect.perform(lane, ports) } }
      end

      # Prepares the failure as a worker would: with the letter, and the cursor on the blamed record.
      # @return [Array<Processing::Failure::LetterRequest>]
      def fail_at(lane, unit, offset, now: 0, cursor: true)
        settled(lane, unit, error: RuntimeError.new("no"), blamed: offset, results: callback_results(unit, offset), now: now,
          cursor: cursor).letters
      end

      def callback_results(unit, offset, answer: nil)
        record = unit.messages.from_offset(offset).slice(0, 1).first
        attempt = (unit.messages.first_offset == offset) ? unit.attempt : 1
        letter = Processing::Failure::Letter.new(record: record, dispatch: {topic: "dead"}, kind: :dead_letter, attempt: attempt)
        Processing::Failure::CallbackResults.new(offset: offset, answer: answer, letter: letter)
      end

      def acknowledge(lane, request)
        request.acknowledged(lane).each { |effect| effect.perform(lane, Ports.new) }
      end

      # Runs everything that is available, successfully.
      # @return [Array<Array<Integer>>] the offsets of each unit
      def runs(lane)
        seen = []
        while lane.waiting? && (unit = lane.next_unit)
          seen << offsets_of(unit)
          settled(lane, unit)
        end
        seen
      end

      # Runs everything; records of these offsets fail.
      # @return [Array] offset and attempt of each dead letter; the offsets that were run
      def run_with_poison(lane, poison)
        now = 0
        letters = []
        ran = []
        while next_at(lane, now += 40_000) && (unit = lane.next_unit)
          bad = offsets_of(unit).find { |offset| poison.include?(offset) }
          ran.concat(offsets_of(unit).take_while { |offset| bad.nil? || offset <= bad })
          next settled(lane, unit) unless bad

          fail_at(lane, unit, bad, now: now).each do |request|
            letters << [request.letter.offset, request.letter.attempt]
            acknowledge(lane, request)
          end
        end
        [letters, ran]
      end

      def next_at(lane, now)
        lane.holds.expire(now)
        lane.division.expire(now)
        lane.waiting?
      end
    end
  end
end
