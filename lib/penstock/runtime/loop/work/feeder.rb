# frozen_string_literal: true

require_relative "../../../processing/effects/effects"

module Penstock
  module Runtime
    # Takes records from ready lanes, admits them, and hands units to the run queue. It does so late, when a worker is about to be
    # free, so that delays and expiry are decided with the present time and a revocation drops few records. One call into the
    # driver per turn for all lanes together. Runs on the poll loop's thread.
    class Feeder
      # Units of a topic that may be queued beyond the workers it may hold.
      SPARE = 2
      # Bytes that all lanes together may take in one turn.
      WINDOW_BYTES = 64 * 1024 * 1024
      NONE = {}.freeze
      # Effects after which the source begins elsewhere.
      MOVING = [Processing::Effect::Seek, Processing::Effect::ReadOffsetAgain].freeze
      private_constant :NONE, :MOVING

      # @param connection [ConnectionState]
      # @param topic_pipelines [Hash{Routing::Topic => Processing::TopicPipeline}]
      # @param ports [EffectContext]
      # @param limit_of [#call] returns how many workers a topic may hold
      # @param crash_guard [CrashGuard]
      def initialize(connection, topic_pipelines, ports, limit_of, crash_guard)
        @crash_guard = crash_guard
        @connection = connection
        @topic_pipelines = topic_pipelines
        @ports = ports
        @limit_of = limit_of
        @turn = 0
        @crowded = NONE
        @sharing = 1
        @pending_ends = {}.compare_by_identity
        @refused = {}
      end

      # Hands out waiting records, takes more where lanes want them, and hands those out too.
      def run
        feed if @connection.feeding
        @crash_guard.commit
      end

      # @return [Boolean] whether `eofed` is still to be called for a partition, after its running units
      def ends_pending? = !@pending_ends.empty?

      # Looks for records that could be taken now. Other loops may have taken the topic's places since the last feeding: then the
      # loop is woken when one becomes free.
      # @return [Boolean] whether there are some: the loop must not wait
      def find_records
        found = @connection.feeding && @connection.active.to_a.any? { |lane| lane.wanted > 0 && claim_place(lane) }
        await_places unless found || @refused.empty?
        found
      end

      # Pushes units that were handed out to the run queue.
      # @param units [Array<Processing::Unit>]
      def push(lane, units)
        units.each do |unit|
          lane.recording&.unit(unit)
          announce(unit)
        end
        handed_out(lane, units.last) unless @pending_ends.empty?
        slot = lane.assignment.slot
        slot.quick = lane.by_key? && lane.division.pace.quick? # in order, one worker is enough for one unit at a time
        @connection.pool.grow(@connection.queue.push(slot, *units))
      end

      # Records that waited for others or for their next attempt may have expired in the meantime: they are complete, or their
      # unit becomes one that builds their letters.
      # @return [Boolean] whether records are left to be handed out
      def recheck(lane, unit)
        return true unless lane.pipeline&.recheck?
        at_end = !lane.by_key? && unit.messages.at_end?
        effects = @topic_pipelines.fetch(lane.topic).drop_expired(lane, unit, @connection.now)
        effects.each { |effect| effect.perform(lane, @ports) }
        @ports.schedule_commit unless effects.empty?
        reached_end(lane) if at_end && lane.takes.end_offset && !announces_end?(lane, unit)
        return true unless unit.messages.empty?
        lane.returned(unit)
        false
      end

      # A unit is on its way. If its last call announces the end of the partition, the hook needn't.
      # @param lane [Processing::Lane]
      # @param unit [Processing::Unit]
      def handed_out(lane, unit)
        @pending_ends.delete(lane) if announces_end?(lane, unit)
      end

      private

      def feed
        lanes = rotated
        return if lanes.empty? && !ends_pending?
        @sharing = lanes.size
        @crowded = crowded(lanes)
        lanes.each do |lane|
          @crash_guard.release(lane)
          redeliver(lane) if !lane.holds.open? && lane.redelivery.due?
          perform(lane, @topic_pipelines.fetch(lane.topic).due_seek(lane)) if lane.awaited_seek.limit
          admit_waiting(lane) if lane.intake.waiting?
          hand_out(lane) if lane.waiting?
          # The last record it waited for may have expired.
          perform(lane, @topic_pipelines.fetch(lane.topic).due_seek(lane)) if lane.awaited_seek.limit
          reached_end(lane) if lane.takes.take_end_again
        end
        wanted = wanted(lanes)
        take(wanted) unless wanted.empty?
        announce_ends if ends_pending?
        await_places unless @refused.empty?
      end

      # Every turn begins with another lane, so that no lane is always served last, also while their number changes from turn to
      # turn.
      def rotated
        lanes = @connection.active.to_a
        return lanes if lanes.size < 2
        @turn += 1
        lanes.rotate(@turn % lanes.size)
      end

      # Redelivery after an error, with manual offsets: records that were handed out and aren't marked are fetched from the
      # broker again.
      def redeliver(lane)
        lane.recording&.marks
        lane.take_marks
        count = lane.ledger.incomplete - lane.division.size - lane.intake.size
        from = lane.redelivery.begin
        lane.recording&.redelivery(from)
        @ports.schedule_commit
        return unless from
        @pending_ends.delete(lane) # the source reaches the end again
        @ports.seek(lane, from, :redelivery)
        @ports.emit("consumer.redelivery", {topic: lane.topic_name, partition: lane.partition, offset: from, count: count})
      end

      # Selects the lanes that take records now, at most as many as units may be queued: records that are taken and can't be
      # handed out become outdated.
      def wanted(lanes)
        room = nil
        lanes.select do |lane|
          next false unless lane.wanted > 0
          next claim_place(lane) unless lane.idle?
          room ||= Hash.new { |known, topic| known[topic] = room(topic) }
          next refuse(lane.topic.name) unless room[lane.topic.name].positive?
          room[lane.topic.name] -= 1
        end
      end

      def room(topic_name) = @limit_of.call(topic_name) + SPARE - @connection.queue.waiting(topic_name)

      # A unit queued after a running one of its lane takes no place from other lanes, but makes its lane keep its place longer:
      # while other lanes find no place, a lane gets no further unit before its running one has ended. Where keys run in parallel,
      # one of them may take long, so such a lane claims another place.
      def claim_place(lane)
        return true unless lane.idle? || @crowded.key?(lane.topic.name)
        (lane.idle? || lane.by_key?) && claim_room(lane.topic.name)
      end

      def claim_room(topic_name) = room(topic_name).positive? || refuse(topic_name)

      # @return [false]
      def refuse(topic_name)
        @refused[topic_name] = true
        false
      end

      # Another loop may hold the topic's places; one may have become free since the check. Topics are noted where a unit of them
      # is refused.
      def await_places
        @refused.each_key do |topic_name|
          waiting = @connection.queue.await_place(topic_name, @connection.mailbox)
          @connection.mailbox.wake_up if waiting && waiting < @limit_of.call(topic_name) + SPARE
        end
        @refused.clear
      end

      # @return [Hash{String => Integer}] topics with more partitions waiting for a place than there are places
      def crowded(lanes)
        waiting = nil
        lanes.each do |lane|
          next if !lane.idle? || !(lane.waiting? || lane.wanted.positive?)
          (waiting ||= Hash.new(0))[lane.topic.name] += 1
        end
        waiting.nil? ? NONE : waiting.select { |topic_name, count| count > room(topic_name) }
      end

      def take(lanes)
        limit = [@connection.settings.window_bytes, WINDOW_BYTES / lanes.size].min
        request = lanes.flat_map { |lane| [lane.assignment.source, lane.wanted, [limit, lane.division.room_bytes].min] }
        batches = @connection.driver.take(request)
        lanes.each_with_index { |lane, index| admit(lane, batches[index]) }
      end

      def admit(lane, batch)
        return lane.takes.ready = false unless batch
        lane.recording&.take(batch)
        note_end(lane) if @connection.subscribed?("consumer.consumed")
        incarnation = lane.incarnation
        effects = @ports.confirming(lane) do
          @topic_pipelines.fetch(lane.topic).admission.call(lane, batch, low_watermark(lane, batch))
        end
        perform(lane, effects) unless effects.empty?
        # After a new incarnation its waiting records are of a log that no longer exists.
        @connection.call_back(lane) unless lane.incarnation == incarnation
        @pending_ends.delete(lane) if batch.size.positive?
        # A source that is moved isn't at its end.
        reached_end(lane) if batch.eof && effects.none? { |effect| MOVING.include?(effect.class) }
        admit_waiting(lane)
        hand_out(lane)
      end

      # Turns taken records into units as far as they are due; user code that decides about it is run by a worker. Repeats as
      # long as the intake shrinks: the rest waits for an event that wakes the loop.
      def admit_waiting(lane)
        left = nil
        while lane.intake.waiting? && lane.probing.admits? && left != (left = lane.intake.size)
          perform(lane, @topic_pipelines.fetch(lane.topic).admit_next(lane, @connection.now))
          @ports.schedule_commit # dropped records are complete
        end
      end

      def perform(lane, effects)
        lane.recording&.effects(effects)
        effects.each { |effect| effect.perform(lane, @ports) }
      end

      # The client knows it from the last fetch.
      def note_end(lane)
        _low, high = @connection.driver.cached_watermarks(lane.topic_name, lane.partition)
        lane.takes.log_end = high if high && high >= 0
      end

      # Looked up only where a gap has to be explained, or may exist: before a record of the take, or before the log's end.
      def low_watermark(lane, batch)
        tail = lane.takes.next_offset or return
        place = batch.eof || (batch.to if batch.size.positive?)
        gap = place && place - tail != batch.size
        @connection.driver.cached_watermarks(lane.topic_name, lane.partition).first if gap || lane.redelivery.reading?
      end

      def hand_out(lane)
        units = []
        lane.division.pace.sharing = @sharing if lane.by_key?
        while claim_place_for_another(lane, units) && @crash_guard.check(lane) && (unit = lane.next_unit)
          next unless recheck(lane, unit) && @crash_guard.admit(lane, unit)
          units << unit
        end
        push(lane, units) unless units.empty?
      end

      # Where keys run in parallel and one has a place, the division alone limits the others. In a lane that runs in order, units
      # run one after another.
      def claim_place_for_another(lane, units)
        return claim_place(lane) if units.empty?
        lane.by_key? || !lane.idle?
      end

      def announce(unit)
        return unless unit.attempt > 1 && @connection.subscribed?("consumer.consuming.retry")
        lane = unit.lane
        offset = unit.messages.first_offset
        @connection.emit("consumer.consuming.retry", {topic: lane.topic_name, partition: lane.partition, offset: offset,
          timeout: lane.attempts.waited(offset), attempt: unit.attempt, caller: lane.assignment.consumer})
      end

      # In order, the call that has the partition's last record is the one in which `eofed?` is true. Where keys run in parallel
      # it is true for one key's consumer only.
      def announces_end?(lane, unit)
        !lane.by_key? && unit.consume? && unit.runs? && (unit.rest || unit.messages).at_end?
      end

      def reached_end(lane)
        @ports.schedule_commit
        return unless lane.topic.eofed?
        @pending_ends[lane] = lane.incarnation
      end

      # Calls `eofed` after the running units, and not during a pause; an open breaker that has no record of the lane to try
      # doesn't prevent it. If records arrive first, or after a seek, it isn't the end any more.
      def announce_ends
        @pending_ends.delete_if do |lane, incarnation|
          next true unless lane.owned? && lane.incarnation == incarnation
          next false unless lane.idle? && lane.division.empty? && lane.intake.empty? && !suspended?(lane)
          announce_end(lane)
          true
        end
      end

      def suspended?(lane) = lane.leaving? || !(lane.open? || lane.holds.only?(:breaker))

      def announce_end(lane)
        unit = lane.action_unit(:eofed, @ports.no_messages(lane))
        @connection.active.add(lane)
        @connection.pool.grow(@connection.queue.push(lane.assignment.slot, unit))
      end
    end
  end
end
