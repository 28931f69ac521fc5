# frozen_string_literal: true

require_relative "../processing/effects/effects"

module Penstock
  module Runtime
    # Takes records from ready lanes, lets them in, and hands units to the run queue: late, when a worker is about to be free, so
    # that admission sees the present and a revocation drops little. One crossing into the driver a turn, whatever the number
    # of lanes. Runs on the poll loop's thread.
    class Feeder
      # Units a topic may have waiting beyond the workers it may hold.
      SPARE = 2
      # Bytes one turn takes, all lanes together.
      WINDOW_BYTES = 64 * 1024 * 1024
      NONE = {}.freeze
      private_constant :NONE

      # @param session [Session]
      # @param assemblies [Hash{Routing::Topic => Processing::Assembly}]
      # @param ports [Ports]
      # @param limit_of [#call] workers a topic may hold
      # @param suspicion [Suspicion]
      def initialize(session, assemblies, ports, limit_of, suspicion)
        @suspicion = suspicion
        @session = session
        @assemblies = assemblies
        @ports = ports
        @limit_of = limit_of
        @turn = 0
        @crowded = NONE
        @untold = {}.compare_by_identity
        @refused = {}
      end

      # Hands out what waits, takes what is wanted, hands that out too.
      def run
        feed if @session.feeding
        @suspicion.commit
      end

      # @return [Boolean] whether users are still to hear of a partition's end, behind what runs
      def ends_untold? = !@untold.empty?

      # @return [Boolean] whether records are at hand that could be taken now: the loop must not wait
      def hungry?
        @session.feeding && @session.lanes.any? { |_key, lane| lane.wanted.positive? && place?(lane) }
      end

      # Gives units that were handed out to the run queue.
      # @param units [Array<Processing::Unit>]
      def push(lane, units)
        units.each do |unit|
          lane.recording&.unit(unit)
          announce(unit)
        end
        lane.slot.quick = lane.division.quick?
        @session.pool.grow(@session.queue.push(lane.slot, *units))
      end

      private

      def feed
        lanes = rotated
        @crowded = crowded(lanes)
        lanes.each do |lane|
          @suspicion.release(lane)
          go_back(lane) if !lane.holds.open? && lane.redelivery_due?
          let_in(lane) if lane.intake.waiting?
          hand_out(lane) if lane.waiting?
        end
        wanted = wanted(lanes)
        take(wanted) unless wanted.empty?
        tell_ends if ends_untold?
        await_places unless @refused.empty?
      end

      # Every turn begins with another lane, so that none is always served last.
      def rotated
        lanes = @session.all
        return lanes if lanes.size < 2
        @turn = (@turn + 1) % lanes.size
        lanes.rotate(@turn)
      end

      # After an error, with manual offsets: what was handed out and isn't marked comes again, from the broker.
      def go_back(lane)
        lane.recording&.marks
        lane.take_marks
        count = lane.ledger.incomplete - lane.division.size - lane.intake.size
        from = lane.begin_redelivery
        lane.recording&.redelivery(from)
        @ports.moved
        return unless from
        @untold.delete(lane) # the source meets the end once more
        @ports.seek(lane, from, :redelivery)
        @ports.emit("consumer.redelivery", {topic: lane.topic_name, partition: lane.partition, offset: from, count: count})
      end

      # Only as many lanes as units may wait: what is taken and can't be handed out grows old.
      def wanted(lanes)
        room = nil
        lanes.select do |lane|
          next false unless lane.wanted.positive?
          next place?(lane) unless lane.idle?
          room ||= Hash.new { |known, topic| known[topic] = room(topic) }
          next refuse(lane.topic.name) unless room[lane.topic.name].positive?
          room[lane.topic.name] -= 1
        end
      end

      def room(topic_name) = @limit_of.call(topic_name) + SPARE - @session.queue.waiting(topic_name)

      # A unit behind a running one of its lane takes no place of others, but it keeps its lane's: as long as others find none a
      # lane comes to its end first. Where keys run side by side one of them may take long: such a lane waits for a place too.
      def place?(lane)
        return true unless lane.idle? || @crowded.key?(lane.topic.name)
        (lane.idle? || lane.rolling?) && room_for?(lane.topic.name)
      end

      def room_for?(topic_name) = room(topic_name).positive? || refuse(topic_name)

      # @return [false]
      def refuse(topic_name)
        @refused[topic_name] = true
        false
      end

      # Another loop may have the places of the topic; one may have become free since it was asked.
      def await_places
        @refused.each_key do |topic_name|
          waiting = @session.queue.await_place(topic_name, @session.mailbox)
          @session.mailbox.wake_up if waiting && waiting < @limit_of.call(topic_name) + SPARE
        end
        @refused.clear
      end

      # @return [Hash{String => Integer}] topics of which more partitions wait for a place than there are
      def crowded(lanes)
        waiting = nil
        lanes.each do |lane|
          next if !lane.idle? || !(lane.waiting? || lane.wanted.positive?)
          (waiting ||= Hash.new(0))[lane.topic.name] += 1
        end
        waiting.nil? ? NONE : waiting.select { |topic_name, count| count > room(topic_name) }
      end

      def take(lanes)
        limit = [@session.settings.window_bytes, WINDOW_BYTES / lanes.size].min
        request = lanes.flat_map { |lane| [lane.source, lane.wanted, [limit, lane.division.room_bytes].min] }
        batches = @session.driver.take(request)
        lanes.each_with_index { |lane, index| admit(lane, batches[index]) }
      end

      def admit(lane, batch)
        return lane.ready = false unless batch
        lane.recording&.take(batch)
        life = lane.incarnation
        effects = @assemblies.fetch(lane.topic).admission.call(lane, batch, low_watermark(lane, batch))
        lane.recording&.effects(effects)
        effects.each { |effect| effect.perform(lane, @ports) }
        @session.call_back(lane) unless lane.incarnation == life # what waits is of a log that is gone
        @untold.delete(lane) if batch.size.positive?
        let_in(lane)
        hand_out(lane)
        reached_end(lane) if batch.eof && batch.size.zero?
      end

      # What was taken goes on into units as far as its time has come; user code that decides about it is run by a worker. One
      # part after another, as long as it becomes less: what is left waits for something that wakes the loop.
      def let_in(lane)
        left = nil
        while lane.intake.waiting? && lane.takes? && left != (left = lane.intake.size)
          effects = @assemblies.fetch(lane.topic).let_in(lane, @session.now)
          lane.recording&.effects(effects)
          effects.each { |effect| effect.perform(lane, @ports) }
          @ports.moved # what is dropped is complete
        end
      end

      # Asked only where a gap has to be explained, or may be one.
      def low_watermark(lane, batch)
        tail = lane.next_take or return
        gap = batch.size.positive? && batch.offset(0) > tail
        @session.driver.cached_watermarks(lane.topic_name, lane.partition).first if gap || lane.redelivery.reading?
      end

      def hand_out(lane)
        units = []
        while place_for_another?(lane, units) && @suspicion.open?(lane) && (unit = lane.next_unit)
          next unless still_wanted?(lane, unit) && @suspicion.pass?(lane, unit)
          units << unit
        end
        push(lane, units) unless units.empty?
      end

      # Keys run side by side: where one has a place the others wait for the division alone. In order, one behind another.
      def place_for_another?(lane, units)
        return place?(lane) if units.empty?
        lane.rolling? || !lane.idle?
      end

      # Records that waited for others or for their next attempt may have become too old meanwhile.
      def still_wanted?(lane, unit)
        return true unless lane.pipeline&.again?
        effects = @assemblies.fetch(lane.topic).again(lane, unit, @session.now)
        effects.each { |effect| effect.perform(lane, @ports) }
        @ports.moved unless effects.empty?
        return true unless unit.messages.empty?
        lane.returned(unit)
        false
      end

      def announce(unit)
        return unless unit.attempt > 1 && @session.subscribed?("consumer.consuming.retry")
        lane = unit.lane
        @session.emit("consumer.consuming.retry", {topic: lane.topic_name, partition: lane.partition,
          offset: unit.messages.first_offset, timeout: 0, attempt: unit.attempt})
      end

      def reached_end(lane)
        @ports.moved
        return unless lane.topic.eofed?
        @untold[lane] = lane.incarnation
      end

      # Behind what runs and what a pause holds up. Where records come first it isn't the end any more, nor behind a seek.
      def tell_ends
        @untold.delete_if do |lane, life|
          next true unless lane.owned? && lane.incarnation == life
          next false unless lane.idle? && lane.open? && lane.division.empty?
          tell_end(lane)
          true
        end
      end

      def tell_end(lane)
        unit = lane.action_unit(:eofed, @ports.no_messages(lane))
        @session.pool.grow(@session.queue.push(lane.slot, unit))
      end
    end
  end
end
