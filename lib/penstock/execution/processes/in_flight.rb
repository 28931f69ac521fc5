# frozen_string_literal: true

require_relative "unit_origins"

module Penstock
  module Execution
    module Processes
      # Keeps the units that were sent to one child and have not come back. Changed by the thread of the {ChildDriver}; other
      # threads may read it and request an interrupt.
      class InFlight
        # `marked` is how far the child's marks were applied, `sent` which changes of its partition were sent to the child.
        Entry = Struct.new(:id, :slot, :unit, :context, :marked, :sent, :interrupt) do
          def lane = unit.lane
          def loop_client = context.loop_client

          # @return [#reported] receives marks of the unit's records
          def cell = unit.messages[0]&.mark_cell || lane.marks

          # Whether it may still begin: it isn't interrupted, and its lane is neither being revoked nor of a later incarnation. In
          # these cases the loop has withdrawn the lane's queued units already: one that is put back now would run although the
          # partition may belong to another member.
          def wanted? = interrupt.nil? && !lane.marks.leaving? && unit.incarnation == lane.incarnation

          # Applies the child's marks.
          # @param through [Integer, nil] all offsets below it are marked
          def mark(through)
            return if through.nil? || through <= marked
            cell.reported(through - 1)
            self.marked = through
          end
        end

        def initialize
          @lock = Mutex.new
          @entries = {}
          @origins = UnitOrigins.new
          @last = 0
        end

        # @return [Entry]
        def add(slot, unit)
          context = slot.pool.take(unit)
          id = @origins.number(unit.lane, context.loop_client, @last += 1)
          @lock.synchronize { @entries[id] = Entry.new(id, slot, unit, context, 0, [], nil) }
        end

        # @param id [Integer]
        # @return [Entry, nil]
        def [](id) = @entries[id]

        # @param id [Integer]
        # @return [UnitOrigins::Origin, nil] of a unit that may have ended
        def origin(id) = @origins[id]

        # @return [Entry, nil] the removed entry
        def delete(id)
          entry = @lock.synchronize { @entries.delete(id) } or return
          entry.slot.pool.give_back(entry.context)
          entry
        end

        # @return [Array<Entry>]
        def to_a = @lock.synchronize { @entries.values }

        def size = @entries.size
        def empty? = @entries.empty?

        # Any thread.
        # @param these [Array<Processing::Lane, Processing::Unit>]
        # @param error [Exception]
        # @return [Array<Processing::Unit>] units that will be interrupted
        def interrupt(these, error)
          hit = to_a.select { |entry| entry.unit.among?(these) }
          hit.each { |entry| entry.interrupt = error }.map(&:unit)
        end
      end
    end
  end
end
