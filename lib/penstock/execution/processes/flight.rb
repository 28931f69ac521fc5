# frozen_string_literal: true

require_relative "homes"

module Penstock
  module Execution
    module Processes
      # The units that were sent to one child and haven't come back. Changed by the thread that looks after the child; others may
      # ask what is in it, and for an interrupt.
      class Flight
        # `marked` is how far its marks were taken over, `told` what the child was told about its partition.
        Entry = Struct.new(:id, :slot, :unit, :context, :marked, :told, :interrupt) do
          def lane = unit.lane
          def link = context.link

          # @return [#reported] where marks of the unit's records go
          def cell = unit.messages[0]&.mark_cell || lane.marks

          # Whether it may still begin: nobody has interrupted it, and its lane isn't being given up, nor has it begun anew. Who
          # takes out of the run queue what waits has done so already: put back, it would run in somebody else's partition.
          def wanted? = interrupt.nil? && !lane.marks.leaving? && unit.incarnation == lane.incarnation

          # Takes over what the child has marked.
          # @param through [Integer, nil] below it everything is marked
          def mark(through)
            return if through.nil? || through <= marked
            cell.reported(through - 1)
            self.marked = through
          end
        end

        def initialize
          @lock = Mutex.new
          @entries = {}
          @homes = Homes.new
          @last = 0
        end

        # @return [Entry]
        def add(slot, unit)
          context = slot.pool.take(unit)
          id = @homes.number(unit.lane, context.link, @last += 1)
          @lock.synchronize { @entries[id] = Entry.new(id, slot, unit, context, 0, [], nil) }
        end

        # @param id [Integer]
        # @return [Entry, nil]
        def [](id) = @entries[id]

        # @param id [Integer]
        # @return [Homes::Home, nil] of a unit that may have ended
        def home(id) = @homes[id]

        # @return [Entry, nil] it isn't on its way any more
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
