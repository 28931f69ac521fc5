# frozen_string_literal: true

require_relative "world"

module Penstock
  module TestSupport
    module Sim
      # Makes a failing plan smaller while the same invariant still breaks: leaves out faults one by one, then reduces
      # records, members and requests. A small plan is easier to understand.
      class Shrinker
        RUNS = 150
        private_constant :RUNS

        # @param plan [Plan] that fails
        # @param violation [Checker::Violation]
        def initialize(plan, violation)
          @plan = plan
          @invariant = violation.invariant
          @runs = 0
        end

        # @return [Plan]
        def call
          nil while fewer_faults || less_of_the_rest
          @plan
        end

        private

        def fewer_faults
          @plan.faults.each_index.any? do |index|
            try(@plan.with(faults: @plan.faults.dup.tap { |faults| faults.delete_at(index) }))
          end
        end

        def less_of_the_rest
          smaller = [
            {records: @plan.records / 2}, {records: @plan.records - 5}, {members: @plan.members - 1},
            {partitions: @plan.partitions - 1}, {fail_percent: 0}, {poison_percent: 0}, {slow_percent: 0}, {mark_percent: 0},
            {seek_percent: 0}, {horizon_ms: shorter}
          ]
          plain = Plan::FEATURES.reject { |name, value| @plan.public_send(name) == value }
          return true if plain.any? { |name, value| try(@plan.with(name => value)) }
          smaller.any? { |change| sensible?(change) && try(@plan.with(**change)) }
        end

        # In calm plans records are written after the group is complete.
        def shorter = [@plan.horizon_ms / 2, (@plan.faults.last&.at || 0) + 500, @plan.calm ? World::SETTLED_MS + 500 : 0].max

        def sensible?(change)
          change.all? { |name, value| value < @plan.public_send(name) && value >= (name.end_with?("percent") ? 0 : 1) }
        end

        def try(plan)
          return false if (@runs += 1) > RUNS
          return false unless World.new(plan).run&.invariant == @invariant
          @plan = plan
          true
        end
      end
    end
  end
end
