# frozen_string_literal: true

require_relative "../processing/effects/effects"

module Penstock
  module Runtime
    # Looks for records that kill the process: decides, before a unit goes to a worker, whether its record has to be announced by
    # a commit first, or isn't to be run at all. What is decided is in {Processing::Failure::Suspects}; here it is made so. Runs
    # on the poll loop's thread; nothing in it waits.
    #
    # Before the first unit of a lane an acknowledged commit must say that the lane has an owner who hasn't ended cleanly: a
    # process that dies of its first record would otherwise leave no trace. Where that takes too long the lane goes on without it.
    class Suspicion
      # How long a lane waits until its adoption is committed.
      PATIENCE_MS = 5_000
      # How soon a suspect asks again whether it may run, and how soon its count is sent again after a refusal.
      LOOK_MS = 20
      AGAIN_MS = 1_000
      private_constant :PATIENCE_MS, :LOOK_MS, :AGAIN_MS

      # Waits for a commit of the lane.
      Clearance = Struct.new(:lane, :done) do
        def resolve(answer) = done.call(answer)
      end
      private_constant :Clearance

      # @param session [Session]
      # @param committer [Committer]
      # @param gate [SuspectGate] of the process
      # @param start [#call] gives a unit of a lane to the run queue
      def initialize(session, committer, gate, start)
        @session = session
        @committer = committer
        @gate = gate
        @start = start
      end

      # @param lane [Processing::Lane] with records at hand
      # @return [Boolean] whether it may hand out a unit now
      def open?(lane)
        suspects = lane.suspects
        return true if suspects.nil? || suspects.quiet?
        return false unless lane.waiting? && told?(lane, suspects)
        tell(lane, suspects) if suspects.ends_at(log_end(lane))
        suspects.look(lane.ledger)
        !suspects.alone? || lane.in_flight.zero?
      end

      # @param unit [Processing::Unit] about to go to a worker
      # @return [Boolean] whether it may; else it was put back, or is held here until its count is acknowledged
      def pass?(lane, unit)
        suspects = lane.suspects
        return true if suspects.nil? || suspects.quiet? || !unit.consume?
        suspected = unit.messages.offsets.select { |offset| suspects.suspect?(offset) }
        return true if suspected.empty?
        lane.recording&.suspected
        return cut(lane, unit, suspected.last) unless unit.single?
        case suspects.step(suspected.first)
        when :quarantine then put_away(lane, unit, suspects)
        when :announce then announce(lane, unit, suspects)
        else true
        end
      end

      # A suspect has ended, and was settled. What is committed still counts it, so that is put right at once.
      def clear(lane)
        suspects = lane.suspects
        suspects.clearing = true
        @committer.wait(Clearance.new(lane, ->(_answer) { suspects.clearing = false }))
      end

      private

      def told?(lane, suspects)
        return true if suspects.told == true
        return ask(lane, suspects) unless suspects.told
        suspects.told = true # nobody answered in time
      end

      def ask(lane, suspects)
        suspects.told = :asked
        lane.holds.add(:suspect, @session.now + PATIENCE_MS)
        @committer.wait(Clearance.new(lane, ->(answer) { answered(lane, suspects) if answer }))
        false
      end

      def answered(lane, suspects)
        return unless suspects.told == :asked
        suspects.told = true
        lane.holds.release(:suspect)
      end

      # @return [Integer, nil] what the last fetch said
      def log_end(lane)
        _low, high = @session.driver.cached_watermarks(lane.topic_name, lane.partition)
        high if high&.positive?
      end

      def tell(lane, suspects)
        @session.emit("consumer.suspected", {topic: lane.topic_name, partition: lane.partition, offset: lane.ledger.base,
          unclean: suspects.unclean})
      end

      # Suspects run one by one. What is told of a key is forgotten when nothing of it is at hand: first it comes back.
      def cut(lane, unit, through)
        lane.take_back([unit])
        effect = Processing::Effect::Isolate.new(through, unit.key)
        lane.recording&.effects([effect])
        effect.perform(lane, nil)
        false
      end

      # A worker makes its dead letter, and nobody looks at it.
      def put_away(lane, unit, suspects)
        offset = unit.messages.first_offset
        unit.crashes = suspects.crashes_of(offset)
        @session.emit("consumer.quarantined", {topic: lane.topic_name, partition: lane.partition, offset: offset,
          crashes: unit.crashes})
        true
      end

      def announce(lane, unit, suspects)
        entered = lane.in_flight == 1 &&
          @gate.enter(suspects, suspects.prime?(unit.messages.first_offset), @session.now) { suspects.announce(unit) }
        return put_back(lane, unit, LOOK_MS) unless entered
        lane.holds.add(:suspect)
        @committer.wait(Clearance.new(lane, ->(answer) { acknowledged(lane, unit, suspects, answer) }))
        false
      end

      # It may have been called back meanwhile, or its lane began anew; or the broker had no room for its count, for now: then a
      # crash would leave no trace.
      def acknowledged(lane, unit, suspects, answer)
        lane.holds.release(:suspect)
        return unless suspects.held.equal?(unit)
        suspects.take_held
        counted = answer && !suspects.changed?
        return put_back(lane, unit, AGAIN_MS) unless counted && unit.incarnation == lane.incarnation
        suspects.written_alone!
        @start.call(lane, unit)
      end

      def put_back(lane, unit, ms)
        lane.take_back([unit])
        lane.holds.add(:suspect, @session.now + ms)
        false
      end
    end
  end
end
