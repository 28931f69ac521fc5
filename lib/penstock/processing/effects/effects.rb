# frozen_string_literal: true

module Penstock
  module Processing
    # Actions requested by settlement and admission: values, so that decisions can be tested, recorded and replayed without side
    # effects. They are performed on the poll loop, in order; `ports` are the loop's operations for them.
    module Effect
      # Everything below `offset` is complete.
      Complete = Struct.new(:offset) do
        def perform(lane, _ports) = lane.complete_through(offset)
      end

      # These records are complete, regardless of the records before them.
      CompleteEach = Struct.new(:messages) do
        def perform(lane, _ports) = lane.complete(messages.to_a)
      end

      # Records that go into no unit are complete.
      Drop = Struct.new(:offsets) do
        def perform(lane, _ports) = lane.drop(offsets)
      end

      # Run these records again, before anything else of the lane, or of the key.
      Requeue = Struct.new(:messages, :key) do
        def perform(lane, _ports) = lane.division.requeue(key, messages.afresh)
      end

      # After an error, with manual offsets: these run again, together with everything else that was handed out and isn't
      # complete. `unit` is the one that failed; nil: a call without records failed.
      Redeliver = Struct.new(:messages, :unit) do
        def key = unit&.key

        def perform(lane, ports)
          others = lane.redelivery.request(messages, unit)
          return if others.empty?
          ports.emit("consumer.redelivery", {topic: lane.topic_name, partition: lane.partition, offset: others.min,
            count: others.size})
        end
      end

      # The record is never redelivered in this incarnation of the lane, whether it is complete or not.
      GiveUp = Struct.new(:offset) do
        def perform(lane, _ports) = lane.redelivery.give_up(offset)
      end

      # One key waits, until `at` (monotonic ms) or until released; the others continue.
      Park = Struct.new(:key, :reason, :at) do
        def perform(lane, _ports) = lane.division.park(key, reason, at)
      end

      # A key continues.
      Unpark = Struct.new(:key) do
        def perform(lane, _ports) = lane.division.release(key)
      end

      # User code was called about records: `rest` is passed to it again when `hold` has ended; `seek_to` is the offset at which
      # a filter wants to continue: from there the source delivers the rest again.
      PrepareEnded = Struct.new(:rest, :seek_to, :hold) do
        def perform(lane, _ports)
          intake = lane.intake
          intake.preparing = false
          return intake.put_back(rest, hold: hold) unless seek_to || rest.empty?
          intake.seek_to = seek_to
          intake.wait(*hold) if hold
        end
      end

      # Records that aren't due yet wait before everything else that was taken.
      PutBack = Struct.new(:messages, :keys, :hold) do
        def perform(lane, _ports) = lane.intake.put_back(messages, keys, prepared: true, hold: hold)
      end

      # Records go into units.
      LetIn = Struct.new(:messages, :keys) do
        def perform(lane, _ports) = lane.admit(messages, keys)
      end

      # A worker passes the taken records to filters and partitioner.
      Prepare = Class.new do
        def perform(lane, ports) = ports.prepare(lane)
      end

      # Hold the lane for a reason, until `at` (monotonic ms) or until released.
      Hold = Struct.new(:reason, :at) do
        def perform(lane, _ports) = lane.holds.add(reason, at)
      end

      # End the hold with one reason.
      Release = Struct.new(:reason) do
        def perform(lane, _ports) = lane.holds.release(reason)
      end

      # Cut what is left, from `from` (nil: from now on) up to and including `through`, into single records.
      Isolate = Struct.new(:through, :key, :from) do
        def perform(lane, _ports) = lane.division.isolate(key, through, from)
      end

      # Records up to and including `through` run one by one, in the partition's order, even where keys may run in parallel.
      Collapse = Struct.new(:through) do
        def perform(lane, _ports) = lane.division.collapse(through)
      end

      # Continue at another offset (Integer, :earliest, :latest): a new incarnation of the lane.
      Seek = Struct.new(:target, :cause) do
        def perform(lane, ports) = ports.seek(lane, target, cause)
      end

      # The same once everything below `limit` is complete that the unit with the offsets `own` didn't have: where keys run in
      # parallel, a user's seek doesn't skip what other calls of the partition haven't completed.
      SeekLater = Struct.new(:target, :limit, :own) do
        def perform(lane, ports) = lane.awaited_seek.wait(ports.place(lane, target), limit, own)
      end

      # The committed offset may be wrong, because the source began at `place`: read it again, and begin there.
      ReadOffsetAgain = Struct.new(:place) do
        def perform(lane, ports) = ports.read_offset_again(lane, place)
      end

      # Stop the process in order, because of an error that concerns all of it.
      Stop = Struct.new(:error) do
        def perform(_lane, ports) = ports.stop(error)
      end

      # Report an error of the source to the listeners.
      Report = Struct.new(:number, :message) do
        def perform(lane, ports) = ports.report(lane, number, message)
      end

      # Emit an event.
      Emit = Struct.new(:event, :payload) do
        def perform(_lane, ports) = ports.emit(event, payload)
      end
    end
  end
end
