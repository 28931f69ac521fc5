# frozen_string_literal: true

module Penstock
  module CLI
    module Replay
      # Repeats what comes or runs again: records that a source repeats, and those that failed: immediately, or while a
      # breaker is open, or, with manual offsets, together with the units its consumer may have held. The dump lists those
      # units, because they depend on which worker took which unit. Stateless: everything it changes is in the lane.
      module Again
        # Reason why the decision can't be made again.
        HELD = "a consumer failed that had more units than were recorded, or some from before the dump begins"

        class << self
          # These units had the same consumer.
          # @param held [Array<Integer>] first offsets of the others
          def share_consumer(lane, unit, held)
            consumer = Object.new
            unit.instance = consumer
            lane.division.each_unit { |one| one.instance = consumer if held.include?(one.messages.first_offset) }
          end

          # The topic's breaker considers all of its partitions, so its recorded decision is used.
          # @param recorded [Array<Array>] name and values of the effects
          def trip(lane, outcome, recorded)
            unit = outcome.unit
            lane.probing.note_failure(outcome.blamed) # probes prefer other records
            lane.take_marks(nil, unit)
            lane.division.isolate(unit.key, outcome.blamed, unit.messages.first_offset)
            run_again(lane, unit, unit.incomplete)
            recorded.each { |name, reason, at| lane.holds.add(:user, at) if [name, reason] == %w[Hold user] }
          end

          # The dump doesn't contain where the log began, only the resulting effect.
          # @param eof [Integer, nil] end of the log that the take has reached
          # @return [Integer, nil]
          def low_watermark(lane, recorded, offsets, eof)
            begun = recorded.find { |name, target, cause| start_sought?(name, cause) && target != lane.takes.next_offset }
            return begun[1] if begun
            places = [lane.takes.next_offset, *offsets, eof].compact
            resets = recorded.count { |effect| effect.last == "consumer.offset_reset" }
            resets -= 1 if places.each_cons(2).any? { |place, following| following < place } # the log went backwards
            return unless resets.positive?
            _seek, target, = recorded.find { |name, _target, cause| [name, cause].map(&:to_s) == %w[Seek redelivery] }
            target || [after_gap(places, resets), lane.ledger.tail].compact.max
          end

          # Facts that the loop knew and a dump doesn't contain: a source had to begin elsewhere, or may repeat what it had
          # sent.
          def foresee(lane, recorded, offsets)
            seek = recorded.find { |name, _target, cause| name == "Seek" && cause == "newcomer" }
            lane.takes.begin_at = seek[1].is_a?(Integer) ? seek[1] : seek[1].to_sym if seek
            lane.takes.start.confirm unless recorded.any? { |name, _target, cause| wrong_start?(name, cause) }
            tail = lane.takes.next_offset
            lane.takes.may_repeat! if offsets.any? && tail && offsets.first < tail && recorded.empty?
          end

          def wrong_start?(name, cause) = name == "ReadOffsetAgain" || start_sought?(name, cause)
          def start_sought?(name, cause) = name == "Seek" && cause.to_s == "above_committed"

          # A record that is admitted, or never will be, is no longer waited for.
          def waits_no_longer(lane, offsets)
            while (entry = lane&.intake&.shift)
              lane.intake.put_back(rest = entry.messages.from_offset(offsets.last + 1))
              break unless rest.empty?
            end
          end

          # @return [Consumer::UnitMarks, nil] the cell of a unit that is running, or has ended without being marked to its end
          def cell_of(lane, first)
            lane.division.each_unit do |unit|
              return unit.marks if unit.messages.first_offset == first && unit.incarnation == lane.incarnation
            end
            nil
          end

          private

          # If records were missing, then those before the take's first one, too, where it doesn't begin at the tail. Of the
          # gaps after that the widest is the likeliest.
          # @param resets [Integer] gaps that were reported
          def after_gap(places, resets)
            expected, first = places
            return unless first
            return first if first > expected && resets == 1
            places.drop((first > expected) ? 1 : 0).each_cons(2).max_by { |place, following| following - place }&.last
          end

          def run_again(lane, unit, messages)
            return lane.division.requeue(unit.key, messages) unless lane.topic.manual_offset_management?
            lane.redelivery.request(messages, unit)
            lane.redelivery.settled(unit)
          end
        end
      end
    end
  end
end
