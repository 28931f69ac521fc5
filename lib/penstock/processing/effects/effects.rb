# frozen_string_literal: true

module Penstock
  module Processing
    # What settlement and admission want done: values, so that decisions can be tested, recorded and replayed without anything
    # happening. They are performed on the poll loop, in order; `ports` is what the loop lends them.
    module Effect
      # Everything below `offset` is complete.
      Complete = Struct.new(:offset) do
        def perform(lane, _ports) = lane.complete_through(offset)
      end

      # These records are complete, whatever lies before them.
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

      # After an error, with manual offsets: these run again, and with them whatever else was handed out and isn't complete.
      # `unit` is the one that failed; nil: a call without records has.
      Redeliver = Struct.new(:messages, :unit) do
        def key = unit&.key

        def perform(lane, ports)
          others = lane.redeliver(messages, unit)
          return if others.empty?
          ports.emit("consumer.redelivery", {topic: lane.topic_name, partition: lane.partition, offset: others.min,
            count: others.size})
        end
      end

      # The record never comes again in this life of the lane, whether it is complete or not.
      GiveUp = Struct.new(:offset) do
        def perform(lane, _ports) = lane.give_up(offset)
      end

      # One key waits, until `at` (monotonic ms) or until released; the others go on.
      Park = Struct.new(:key, :reason, :at) do
        def perform(lane, _ports) = lane.division.park(key, reason, at)
      end

      # A key goes on.
      Unpark = Struct.new(:key) do
        def perform(lane, _ports) = lane.division.release(key)
      end

      # User code was asked about records: `rest` is to be asked about again when `hold` has ended; `seek_to` is where a filter
      # wants to go on: from there the source repeats what is left.
      PrepareEnded = Struct.new(:rest, :seek_to, :hold) do
        def perform(lane, _ports)
          intake = lane.intake
          intake.preparing = false
          return intake.put_back(rest, hold: hold) unless seek_to || rest.empty?
          intake.seek_to = seek_to
          intake.wait(*hold) if hold
        end
      end

      # Records whose time hasn't come wait before everything else that was taken.
      PutBack = Struct.new(:messages, :keys, :hold) do
        def perform(lane, _ports) = lane.intake.put_back(messages, keys, prepared: true, hold: hold)
      end

      # Records go into units.
      LetIn = Struct.new(:messages, :keys) do
        def perform(lane, _ports) = lane.let_in(messages, keys)
      end

      # A worker asks user code about what was taken.
      Prepare = Class.new do
        def perform(lane, ports) = ports.prepare(lane)
      end

      # Shut the lane for a reason, until `at` (monotonic ms) or until released.
      Hold = Struct.new(:reason, :at) do
        def perform(lane, _ports) = lane.holds.add(reason, at)
      end

      # Lift one reason.
      Release = Struct.new(:reason) do
        def perform(lane, _ports) = lane.holds.release(reason)
      end

      # Cut what is left, from `from` (nil: from now on) up to and including `through`, into single records.
      Isolate = Struct.new(:through, :key, :from) do
        def perform(lane, _ports) = lane.division.isolate(key, through, from)
      end

      # Records up to and including `through` run one by one, in the partition's order, though keys may run side by side.
      Collapse = Struct.new(:through) do
        def perform(lane, _ports) = lane.division.collapse(through)
      end

      # Go on at another offset (Integer, :earliest, :latest): a new incarnation of the lane.
      Seek = Struct.new(:target, :cause) do
        def perform(lane, ports) = ports.seek(lane, target, cause)
      end

      # Stop the process in order, because of an error that concerns all of it.
      Stop = Struct.new(:error) do
        def perform(_lane, ports) = ports.stop(error)
      end

      # Tell the listeners about an error of the source.
      Report = Struct.new(:number, :message) do
        def perform(lane, ports) = ports.report(lane, number, message)
      end

      # Tell the listeners.
      Emit = Struct.new(:event, :payload) do
        def perform(_lane, ports) = ports.emit(event, payload)
      end
    end
  end
end
