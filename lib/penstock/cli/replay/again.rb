# frozen_string_literal: true

module Penstock
  module CLI
    module Replay
      # Repeats what runs again after an error: immediately, or while a breaker is open, or, with manual offsets,
      # together with the units its consumer may have held. The dump lists those units, because they depend on which
      # worker took which unit. Part of {Machine}.
      module Again
        # Reason why the decision can't be made again.
        HELD = "a consumer failed that had more units than were recorded, or some from before the dump begins"

        private

        # These units had the same consumer.
        def share_consumer(unit, held)
          consumer = Object.new
          unit.instance = consumer
          @lane.division.each_unit { |one| one.instance = consumer if held.include?(one.messages.first_offset) }
        end

        # The topic's breaker considers all of its partitions, so its recorded decision is used.
        def tripped(outcome, recorded)
          @tripped = true
          unit = outcome.unit
          @lane.take_marks(nil, unit)
          @lane.division.isolate(unit.key, outcome.blamed, unit.messages.first_offset)
          run_again(unit, unit.incomplete)
          recorded.each { |name, reason, at| @lane.holds.add(:user, at) if [name, reason] == %w[Hold user] }
        end

        def run_again(unit, messages)
          return @lane.division.requeue(unit.key, messages) unless @topic.manual_offset_management?
          @lane.redelivery.request(messages, unit)
          @lane.redelivery.settled(unit)
        end

        # After an error the lane is rewound to the first record that its consumer may have lost.
        def on_redelivery(entry)
          from = @lane.redelivery.begin
          return leave_out(HELD) unless @exact || from == entry[0]
          compare(entry, "the offset from which records are redelivered", entry[0], from)
        end

        # The dump doesn't contain where the log began, only the resulting effect.
        # @return [Integer, nil]
        def low_watermark(recorded, offsets)
          return unless recorded.any? { |effect| effect.last == "consumer.offset_reset" }
          _seek, target, = recorded.find { |name, _target, cause| [name, cause].map(&:to_s) == %w[Seek redelivery] }
          target || [offsets.first, @lane.ledger.tail].compact.max
        end

        # A record that is admitted, or never will be, is no longer waited for.
        def waits_no_longer(offsets)
          while (entry = @lane&.intake&.shift)
            @lane.intake.put_back(rest = entry.messages.from_offset(offsets.last + 1))
            break unless rest.empty?
          end
        end

        # Other units of the failing consumer; empty: there were too many.
        def on_held(entry) = (@held ||= []).concat(entry.values)

        # The cell of a unit that is running, or has ended without being marked to its end.
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
