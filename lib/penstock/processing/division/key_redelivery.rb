# frozen_string_literal: true

module Penstock
  module Processing
    module Division
      # Finds the records to redeliver after an error, with manual offsets where keys run in parallel. All of them are in memory,
      # because records whose unit has ended stay with their unit until they are marked. Owned by {ByKey}, whose tables of units
      # and keys it reads and changes.
      #
      # A consumer may have lost the records it held: those of the failed key, and those of every unit it has had since it last
      # failed ({Unit#instance}), for all its keys. For each such key everything unmarked is redelivered from the first of those
      # records on, so that its order is kept. Where a unit of the key is still handed out, this waits for its end.
      class KeyRedelivery
        # @param out [Hash{Unit => KeyRun}] units that are handed out
        # @param unmarked [Hash{Unit => true}] units that have ended with unmarked records
        # @param runs [Hash{Object => KeyRun}] by key
        # @param insert [#call] queues records of a key in their order: key and messages
        def initialize(out, unmarked, runs, &insert)
          @out = out
          @unmarked = unmarked
          @runs = runs
          @insert = insert
        end

        # @param failed [Unit, nil] nil: a call without records failed; nothing else of the lane runs
        # @param lane [Lane]
        # @return [Array<Integer>] offsets of records of other units that are redelivered now
        def redeliver(failed, lane)
          lost = lost_units(failed, lane)
          first = lost.group_by(&:key).transform_values { |units| units.map { |unit| unit.messages.first_offset }.min }
          lost.each { |unit| unit.instance = nil unless held_by_another?(unit, failed) } # no consumer holds their records now
          ended = @unmarked.keys.group_by(&:key)
          back = first.flat_map { |key, from| requeue_unmarked(key, from, ended[key], lane) }
          back - (failed ? failed.messages.offsets : [])
        end

        # @param unit [Unit]
        # @return [Array<Unit>] other units that the same consumer has had, and whose records it may hold
        def held_with(unit)
          return [] unless unit.instance
          each_unit.select { |each| !each.equal?(unit) && held?(each, unit.instance) }
        end

        # @yieldparam unit [Unit] that is handed out, or has ended with unmarked records
        def each_unit(&) = [*@out.keys, *@unmarked.keys].each(&)

        # @return [Boolean] whether records of ended units are unmarked, and would be redelivered after an error
        def any_unmarked?(lane)
          @unmarked.each_key.any? do |unit|
            !lane.offset_slot.carries?(unit.marks) && unit.messages.offsets.any? { |offset| wanted?(offset, lane) }
          end
        end

        # A unit of the key was settled, or called back.
        def settled(key, lane)
          run = @runs[key] or return
          return if run.redeliver_from.nil? || run.busy
          from, run.redeliver_from = run.redeliver_from, nil
          requeue_unmarked(key, from, @unmarked.keys.select { |unit| unit.key == key }, lane)
          @runs.delete(key) if run.idle?
        end

        # Records of an earlier attempt run again: code that still holds them marks in the same cell, and it is read for both.
        # With a new cell for each attempt, a record that fails for a long time would leave one cell after another in memory.
        # @param messages [Array<KeyedMessage>] of the key
        # @return [Consumer::UnitMarks, nil]
        def inherited(key, messages)
          offsets = messages.map(&:offset)
          cell = @unmarked.each_key.find { |unit| unit.key == key && prefix?(unit.messages.offsets, offsets) }&.marks
          return unless cell
          @unmarked.delete_if { |unit, _| unit.marks.equal?(cell) }
          cell.inherited = true
          cell
        end

        private

        # A mark in the cell covers the records before it, so no other records may come before them.
        def prefix?(offsets, of) = of.first(offsets.size) == offsets

        # Units that have ended, and those whose outcome may be on its way. Units marked by an open transaction aren't included
        # until its end is known.
        def lost_units(failed, lane)
          units = each_unit.select { |unit| unit.incarnation == lane.incarnation && !lane.offset_slot.carries?(unit.marks) }
          return units unless failed
          units.select { |unit| unit.key == failed.key || (failed.instance && held?(unit, failed.instance)) }
        end

        # Another consumer is working on records that the failed one has lost, too, and may fail with what it held before.
        def held_by_another?(unit, failed) = !failed.nil? && @out.key?(unit) && !failed.instance.equal?(unit.instance)

        # Whether the instance got the unit, or an earlier one with the same records and the same cell.
        def held?(unit, instance) = instance.equal?(unit.instance) || (unit.marks&.held_by?(instance) || false)

        # @param ended [Array<Unit>, nil] of the key, with unmarked records
        # @return [Array<Integer>] offsets of the records
        def requeue_unmarked(key, from, ended, lane)
          run = @runs[key]
          return wait_for(run, from) if run&.busy
          ended = ended.to_a.reject { |unit| lane.offset_slot.carries?(unit.marks) }
          from = first_to_close(ended, from, lane)
          again = ->(message) { message.offset >= from && wanted?(message.offset, lane) }
          ended.select! { |unit| unit.messages.to_a.any?(&again) }
          ended.each { |unit| close(unit, lane) }
          insert_in_order(key, ended.flat_map { |unit| unit.messages.to_a.select(&again) }.uniq(&:offset), lane)
        end

        # Units are closed as a whole: if a later record of a unit is redelivered, so must be its earlier ones, and all records of
        # the key that follow those.
        # @return [Integer]
        def first_to_close(ended, from, lane)
          wanted = ended.map { |unit| unit.messages.offsets.select { |offset| wanted?(offset, lane) } }
          lowest = from
          while (partly = wanted.find { |offsets| offsets.any? && offsets.first < lowest && offsets.last >= lowest })
            lowest = partly.first
          end
          lowest
        end

        def wait_for(run, from)
          run.redeliver_from = [run.redeliver_from, from].compact.min
          []
        end

        # Marks of its messages don't count from here on; earlier marks do.
        def close(unit, lane)
          unit.marks.close
          lane.take_marks(nil, unit)
          @unmarked.delete(unit)
        end

        def wanted?(offset, lane) = !lane.ledger.complete?(offset) && !lane.redelivery.given_up?(offset)

        def insert_in_order(key, messages, lane)
          queued = @runs[key]&.messages.to_a.to_h { |message| [message.offset, true] }
          messages = messages.reject { |message| queued.key?(message.offset) }
          return [] if messages.empty?
          @insert.call(key, messages.map { |message| message.again(nil) })
          messages.map(&:offset).tap { |offsets| lane.redelivery.set_apart(key) { |offset| offsets.include?(offset) } }
        end
      end
    end
  end
end
