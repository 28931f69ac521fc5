# frozen_string_literal: true

module Penstock
  module TestSupport
    class Assembled
      # The rules that must hold after every turn: no unprocessed record is complete, each record is in one place, every
      # hold ends.
      module Rules
        private

        def check
          follow
          nothing_unprocessed_is_complete
          each_record_is_in_one_place
          every_hold_has_a_release
        end

        # A dead-lettered or skipped record doesn't run again, complete or not.
        def not_buried(unit)
          buried = unit.messages.offsets.find { |offset| @listener.buried[offset] }
          broken("#{buried} runs again after it was dead-lettered or skipped") if buried
        end

        # In any order, before and after the record was parked, copied or handed out again.
        def as_written(message)
          row = @rows.find { |each| each.offset == message.offset }
          headers = {"number" => row.offset.to_s, "read" => "yes"}
          truth = {key: [row.key], headers: headers, payload: ["p#{row.offset}", headers], timestamp_ms: row.timestamp}
          truth.keys.rotate(row.offset + @units.size).each do |name|
            found = message.public_send(name)
            broken("#{name} of #{row.offset} is #{found}, but #{truth[name]} was written") unless found == truth[name]
          end
        end

        def nothing_unprocessed_is_complete
          ledger = @lane.ledger
          @rows.each do |row|
            next if row.offset < @begins || row.offset >= ledger.tail || !ledger.complete?(row.offset)
            next if @allowed[row.offset] || @listener.buried[row.offset] || dropped?(row)
            broken("#{row.offset} is complete although nobody processed it")
          end
        end

        def each_record_is_in_one_place
          return if @lane.intake.seek_to
          found = places.tally
          twice = found.select { |_offset, count| count > 1 }.keys
          broken("#{twice} are in several places: #{named_places.inspect}") unless twice.empty?
          lost = @lane.ledger.incomplete_offsets.reject do |offset|
            found.key?(offset) || @ran[offset] || read_again?(offset) || seeking?(offset)
          end
          broken("#{lost} are nowhere: #{named_places.inspect}") unless lost.empty?
        end

        # After an error, with manual offsets.
        def read_again?(offset) = @lane.redelivery.reading? && offset >= @lane.redelivery.position

        # The records of a call whose seek waits come again, or are skipped.
        def seeking?(offset)
          seek = @lane.awaited_seek
          seek.limit && (offset >= seek.limit || peek(seek, :@own).include?(offset))
        end

        def places = named_places.values.flatten

        def named_places
          division = @lane.division
          gathering = division.is_a?(Processing::Division::Gathering)
          inner = gathering ? peek(division, :@division) : division
          {intake: peek(@lane.intake, :@entries).flat_map { |entry| entry.messages.offsets },
           gathering: gathering ? peek(division, :@messages).map(&:offset) : [],
           at_hand: at_hand(inner), out: out, letters: waiting_letters}
        end

        def at_hand(division)
          return peek(division, :@runs).values.flat_map { |run| run.messages.map(&:offset) } if division.by_key?
          peek(peek(division, :@backlog), :@runs).flat_map(&:offsets)
        end

        def out
          assignment = @lane.assignment
          units = [*assignment.slot.pending, *assignment.prepare_slot&.pending, *@busy.map(&:last), *@outbox.map(&:unit)]
          units.select { |unit| current?(unit) }.flat_map { |unit| handed(unit) & @lane.ledger.incomplete_offsets }
        end

        def handed(unit)
          stretch = unit.stretch or return unit.messages.offsets
          @rows.map(&:offset).select { |offset| offset.between?(stretch.first_offset, stretch.last_offset) }
        end

        def waiting_letters = pending_letters.map { |pending| pending.letter.offset }
        def pending_letters = peek(@letters, :@pending).select(&:counts?)

        def every_hold_has_a_release
          @lane.holds.to_h.each { |reason, due| broken("held for #{reason} without an end") unless due || ends?(reason) }
          return unless @lane.by_key?
          due = peek(peek(inner_division, :@parking), :@due)
          endless = peek(inner_division, :@runs).each_value.select { |run| run.parked && due[run].nil? }.map(&:key)
          nobody = endless - pending_letters.map { |pending| pending.request.unit.key }
          broken("keys #{nobody} wait although nothing of them runs") unless nobody.empty?
        end

        def inner_division
          division = @lane.division
          division.is_a?(Processing::Division::Gathering) ? peek(division, :@division) : division
        end

        def ends?(reason)
          case reason
          when :user then true
          when :redelivery then true # with the next turn in which nothing else holds the lane
          when :breaker then !@topic_pipeline.breaker.closed? || !@outbox.empty?
          when :dead_letter then waiting_letters.any?
          when :instances
            [*@lane.assignment.slot.pending, *@busy.map(&:last), *@outbox.map(&:unit)].any? { |unit| !unit.consume? }
          else false
          end
        end
      end
    end
  end
end
