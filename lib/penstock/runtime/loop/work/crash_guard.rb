# frozen_string_literal: true

require_relative "../../../processing/effects/effects"

module Penstock
  module Runtime
    # Looks for records that kill the process: before a unit goes to a worker, it checks whether the unit's records must be
    # announced by a commit first, or must not run at all. {Processing::Failure::CrashCounts} decides; this class carries it out.
    # Runs on the poll loop's thread; it never blocks.
    #
    # Before the first unit of a lane, an acknowledged commit must record that the lane has an owner that hasn't ended cleanly:
    # a process that dies of its first record would otherwise leave no trace. If that takes too long, the lane continues without
    # it.
    #
    # All announcements of a turn share one commit ({#commit}); units whose commit is acknowledged start with the next turn
    # ({#release}).
    class CrashGuard
      # How long a lane waits until its adoption is committed.
      RECORD_WAIT_MS = 5_000
      # Bytes of a commit's metadata per record of a group, and for all the rest.
      NAME_BYTES = 6
      ENVELOPE_BYTES = 48
      # How soon a suspect checks again whether it may run, and how soon it is announced again after a refusal.
      RECHECK_MS = 20
      REANNOUNCE_MS = 1_000
      private_constant :RECORD_WAIT_MS, :NAME_BYTES, :ENVELOPE_BYTES, :RECHECK_MS, :REANNOUNCE_MS

      # Waits for a commit of the lane.
      Clearance = Struct.new(:lane, :done) do
        def resolve(answer) = done.call(answer)
      end
      private_constant :Clearance

      # @param connection [ConnectionState]
      # @param committer [Committer]
      # @param gate [CrashGate] of the process
      # @param start [#call] pushes a unit of a lane to the run queue
      def initialize(connection, committer, gate, start)
        @connection = connection
        @committer = committer
        @gate = gate
        @start = start
        @wanted = []
        @clearing = []
      end

      # Starts the units whose announcement is acknowledged.
      # @param lane [Processing::Lane]
      def release(lane)
        suspects = lane.suspects
        return unless suspects&.held?
        return suspects.take_held.reverse_each { |unit| put_back(lane, unit, REANNOUNCE_MS) } if suspects.refused?
        suspects.take_cleared.each do |unit|
          (unit.incarnation == lane.incarnation) ? @start.call(lane, unit) : lane.put_back([unit])
        end
      end

      # @param lane [Processing::Lane] with records available
      # @return [Boolean] whether it may hand out a unit now
      def check(lane)
        suspects = lane.suspects
        return true if suspects.nil? || suspects.nothing_to_check?
        return false unless lane.waiting? && wait_until_recorded(lane, suspects)
        now = @connection.now
        report_suspected(lane, suspects) if suspects.set_end(log_end(lane), now) && suspects.notable?
        suspects.update(lane.ledger, now)
        return lane.in_flight.zero? if suspects.one_at_a_time?
        return false if suspects.held? && !lane.by_key? && !joins?(lane, suspects)
        room(lane).positive?
      end

      # @param unit [Processing::Unit] about to go to a worker
      # @return [Boolean] whether it may; otherwise it was returned to the lane, or is held until it is announced
      def admit(lane, unit)
        suspects = lane.suspects
        return true if suspects.nil? || suspects.nothing_to_check? || !unit.consume?
        suspected = unit.messages.offsets.select { |offset| suspects.suspect?(offset) }
        return true if suspected.empty?
        lane.recording&.suspected
        apart = suspected.select { |offset| suspects.must_run_alone?(offset) }
        return announce_group(lane, unit, suspects) if apart.empty?
        return cut(lane, unit, apart.last) unless unit.single?
        case suspects.step(apart.first)
        when :quarantine then quarantine(lane, unit, suspects)
        when :announce then announce(lane, unit, suspects)
        else true
        end
      end

      # Called when a counted suspect has ended and was settled. The last commit still counts it, so another commit corrects that
      # at once.
      def clear(lane)
        lane.suspects.clearing = true
        @clearing << lane
      end

      # Commits the announcements, and the suspects that have ended.
      def commit
        return if @wanted.empty? && @clearing.empty?
        wanted, @wanted = @wanted, []
        clearing, @clearing = @clearing, []
        @committer.request_commit((wanted | clearing).select { |lane| @connection.current?(lane) && lane.owned? })
        clearing.each { |lane| @committer.wait(Clearance.new(lane, ->(_answer) { lane.suspects.clearing = false })) }
      end

      private

      # In a lane that runs in order no record may overtake the held ones, so the next record may only join them if it is held
      # too.
      def joins?(lane, suspects)
        following = lane.division.first_offset
        !following.nil? && suspects.suspect?(following) && !suspects.must_run_alone?(following)
      end

      def wait_until_recorded(lane, suspects)
        return true if suspects.recorded == true
        return ask(lane, suspects) unless suspects.recorded
        suspects.recorded = true # no answer in time
      end

      def ask(lane, suspects)
        suspects.recorded = :requested
        lane.holds.add(:suspect, @connection.now + RECORD_WAIT_MS)
        @committer.wait(Clearance.new(lane, ->(answer) { answered(lane, suspects) if answer }))
        false
      end

      def answered(lane, suspects)
        return unless suspects.recorded == :requested
        suspects.recorded = true
        lane.holds.release(:suspect)
      end

      # @return [Integer, nil] according to the last fetch
      def log_end(lane)
        _low, high = @connection.driver.cached_watermarks(lane.topic_name, lane.partition)
        high if high&.positive?
      end

      def report_suspected(lane, suspects)
        @connection.emit("consumer.suspected", {topic: lane.topic_name, partition: lane.partition, offset: lane.ledger.base,
          unclean: suspects.unclean})
      end

      # Makes suspects run one by one. The unit is returned first, because a lane without records of a key forgets what was set
      # for the key.
      def cut(lane, unit, through)
        lane.put_back([unit])
        effect = Processing::Effect::Isolate.new(through, unit.key)
        lane.recording&.effects([effect])
        effect.perform(lane, nil)
        false
      end

      # Marks the unit as quarantined: a worker only creates the dead letter of its record, without running it.
      def quarantine(lane, unit, suspects)
        offset = unit.messages.first_offset
        unit.crashes = suspects.crashes_of(offset)
        @connection.emit("consumer.quarantined", {topic: lane.topic_name, partition: lane.partition, offset: offset,
          crashes: unit.crashes})
        true
      end

      # Adds the unit's records to the announced group, as far as there is room.
      def announce_group(lane, unit, suspects)
        room = room(lane)
        entered = room.positive? && @gate.enter(suspects, false, @connection.now) do
          unit.shorten(room)
          suspects.announce_group(unit)
        end
        entered ? announced(lane) : put_back(lane, unit, RECHECK_MS)
      end

      def announce(lane, unit, suspects)
        entered = lane.in_flight == 1 &&
          @gate.enter(suspects, suspects.exclusive?(unit.messages.first_offset), @connection.now) { suspects.announce(unit) }
        entered ? announced(lane) : put_back(lane, unit, RECHECK_MS)
      end

      def announced(lane)
        @wanted |= [lane]
        false
      end

      def put_back(lane, unit, ms)
        lane.put_back([unit])
        lane.holds.add(:suspect, @connection.now + ms)
        false
      end

      # @return [Integer] records that may join the group
      def room(lane)
        bytes = lane.ledger.budget - lane.commit_state.user_bytes - ENVELOPE_BYTES
        lane.suspects.room(lane.by_key? ? lane.division.width : 1, [bytes / NAME_BYTES, 1].max)
      end
    end
  end
end
