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

      # Run these records again, before anything else of the lane.
      Requeue = Struct.new(:messages) do
        def perform(lane, _ports) = lane.backlog.put_back(messages)
      end

      # Shut the lane for a reason, until `at` (monotonic ms) or until released.
      Hold = Struct.new(:reason, :at) do
        def perform(lane, _ports) = lane.holds.add(reason, at)
      end

      # Lift one reason.
      Release = Struct.new(:reason) do
        def perform(lane, _ports) = lane.holds.release(reason)
      end

      # Cut what is left up to and including `through` into single records.
      Isolate = Struct.new(:through) do
        def perform(lane, _ports) = lane.backlog.isolate_through(through)
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
