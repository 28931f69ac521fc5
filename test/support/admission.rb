# frozen_string_literal: true

require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/processing/backoff"
require "penstock/routing/features/delay_by"
require "penstock/routing/features/expire_in"
require "penstock/routing/features/filter"
require "penstock/routing/features/parallel"
require "penstock/routing/features/parallel_segments"
require "penstock/routing/features/throttle"
require "penstock/serialization/deserializers"

module Penstock
  module TestSupport
    # Records with ages, and routes with a few features, for tests of the stages that admit records.
    module Admission
      WALL = 1_700_000_000_000
      Group = Struct.new(:segment)
      Route = Struct.new(:name, :features, :pause, :consumer_group) do
        def outdated?(_object) = false
      end
      Pause = Struct.new(:timeout)

      # @param ages [Array<Integer, nil>] ms before WALL, one per record; nil: no timestamp
      def aged(*ages, from: 0, **row)
        records(ages.each_with_index.map { |age, index| {offset: from + index, timestamp: age && (WALL - age), **row} })
      end

      # @param rows [Array<Hash>]
      def records(rows)
        rows = rows.map { |row| Messages::MemoryBatch::Row.new(payload: "p", **row) }
        batch = Messages::MemoryBatch.new("orders", 0, rows)
        batch.context = Messages::Context.new(Serialization::Deserializers::DEFAULT, 0, nil)
        Messages.new(batch)
      end

      def keyed(*keys) = records(keys.each_with_index.map { |key, offset| {offset: offset, key: key} })

      def filter(factory = nil, &keep) = Routing::Filter.new(factory, keep)

      def parallel(by, max: 4, reducer: nil, distribution: :rolling, text_keys: false)
        Routing::Parallel.new(by, max, reducer, distribution, :current, text_keys)
      end

      def route(segment: nil, **features) = Route.new("orders", features, Pause.new(1_000), Group.new(segment))

      def backoff = Processing::Backoff.new(1_000, 30_000, true)

      def assert_accounted(given, run)
        kept = run.messages.offsets + run.rest.offsets + run.dropped
        assert_equal given.offsets, kept.sort
        [run.messages, run.rest].each { |part| assert_equal part.offsets.sort, part.offsets }
        return if run.messages.empty? || run.rest.empty?
        assert_operator run.messages.last_offset, :<, run.rest.first_offset, "a record overtook another"
      end
    end
  end
end
