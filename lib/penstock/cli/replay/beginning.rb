# frozen_string_literal: true

require_relative "out"

module Penstock
  module CLI
    module Replay
      # Sets up a lane in the state it had in the middle of a recording: of the time before, only the running units are
      # known and, with keys in parallel, what was handed out later.
      class Beginning
        # Until a lane has measured how long its units take, any look-ahead is correct.
        QUICK = 600
        private_constant :QUICK

        # @param script [Script]
        # @param state [Script::Entry] recorded state of the lane
        # @param lane [#call] creates one
        # @param messages [#call] creates records for offsets
        def initialize(script, state, lane, messages)
          @script = script
          @state = state
          @make = lane
          @messages = messages
        end

        # @return [Array(Processing::Lane, Out, Boolean), nil] the lane, its running units, and whether it is known
        #   completely; nil: too little is known
        def call
          base, tail, incomplete, in_flight, _incarnation, _attempts, again = @state.values
          return if again # it isn't known which records are redelivered
          handed = @script.out_at(@state)
          return unless handed.size == in_flight && handed.all? { |unit| unit.action == "consume" }
          @lane = @make.call
          return if gathers? && @lane.by_key?
          @lane.adopt(base)
          stand(base, tail, handed) if base && tail > base
          out = hand_out(handed)
          wait(base, tail, handed) if base && @lane.by_key?
          exact = @lane.ledger.incomplete == incomplete
          [@lane, out, exact] if exact || !gathers?
        end

        private

        # The gathered records, and the time since when they are gathered, aren't known.
        def gathers? = !@lane.topic.features[:batch].nil?

        def stand(base, tail, handed)
          @lane.ledger.admit(base, tail, nil)
          @lane.takes.read_from(base)
          seen = @script.end_before(@state)
          @lane.takes.end_at(seen) if seen && seen > tail
          known = handed.flat_map { |unit| unit.offsets || (unit.first..unit.last).to_a }.to_h { |offset| [offset, true] }
          @lane.drop((base...tail).reject { |offset| known.key?(offset) || waits?(offset) })
        end

        def waits?(offset) = @lane.by_key? && @script.handed_out?(offset, @state)

        def hand_out(handed)
          QUICK.times { @lane.division.record_time(1) }
          handed.each_with_object(Out.new) do |unit, out|
            @lane.attempts.restore(unit.first, unit.attempt - 1) if unit.attempt > 1
            offsets = unit.offsets || (unit.first..unit.last).to_a
            @lane.admit(@messages.call(offsets), offsets.map { unit.key })
            out.add("consume", unit.first, @lane.next_unit)
          end
        end

        # Records that had been taken and wait for their key's turn, in the order of those turns.
        def wait(base, tail, handed)
          out = handed.flat_map { |unit| unit.offsets || [] }
          later = @script.entries.drop(@state.number).select { |entry| entry.kind == :unit }.flat_map do |entry|
            @script.unit(entry).offsets || []
          end
          waiting = later.uniq.select { |offset| offset.between?(base, tail - 1) } - out
          waiting.each { |offset| @lane.admit(@messages.call([offset]), [@script.key(offset, @state)]) }
        end
      end
    end
  end
end
