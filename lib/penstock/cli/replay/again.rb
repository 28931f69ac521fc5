# frozen_string_literal: true

module Penstock
  module CLI
    module Replay
      # What runs again after an error: at once, or while a breaker is open, or, with manual offsets, with whatever its consumer
      # may have held. Which units that had is in the dump, for it depends on which worker took which. Part of {Machine}.
      module Again
        # Why it can't be decided again.
        HELD = "a consumer failed that had more units than were written down, or some from before the dump begins"

        private

        # These units had the same consumer.
        def share_consumer(unit, held)
          consumer = Object.new
          unit.instance = consumer
          @lane.division.each_unit { |one| one.instance = consumer if held.include?(one.messages.first_offset) }
        end

        # The topic's breaker looks at all its partitions: what it decided here is taken over.
        def tripped(outcome, recorded)
          @tripped = true
          unit = outcome.unit
          @lane.take_marks(nil, unit)
          @lane.division.isolate(unit.key, outcome.blamed, unit.messages.first_offset)
          run_again(unit, @lane.incomplete_of(unit))
          recorded.each { |name, reason, at| @lane.holds.add(:user, at) if [name, reason] == %w[Hold user] }
        end

        def run_again(unit, messages)
          return @lane.division.requeue(unit.key, messages) unless @topic.manual_offset_management?
          @lane.redeliver(messages, unit)
          @lane.settled(unit)
        end

        # The lane goes back, to what its consumer may have lost with an error.
        def on_redelivery(entry)
          from = @lane.begin_redelivery
          return leave_out(HELD) unless @exact || from == entry[0]
          compare(entry, "from where records come again", entry[0], from)
        end

        # Where the log began is not in the dump, only what it led to.
        # @return [Integer, nil]
        def low_watermark(recorded, offsets)
          return unless recorded.any? { |effect| effect.last == "consumer.offset_reset" }
          _seek, target, = recorded.find { |name, _target, cause| [name, cause].map(&:to_s) == %w[Seek redelivery] }
          target || [offsets.first, @lane.ledger.tail].compact.max
        end

        # What goes in, or never will, no longer waits for it.
        def waits_no_longer(offsets)
          while (entry = @lane&.intake&.shift)
            @lane.intake.put_back(rest = entry.messages.from_offset(offsets.last + 1))
            break unless rest.empty?
          end
        end

        # Other units of the consumer that fails; none: there were too many.
        def on_held(entry) = (@held ||= []).concat(entry.values)

        # Of a unit that is out, or has ended and isn't marked to its end.
        def cell_of(first)
          @lane.division.each_unit do |unit|
            return unit.marks if unit.messages.first_offset == first && unit.incarnation == @lane.incarnation
          end
          nil
        end
      end
    end
  end
end
