# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks I13: before the poll loop waits, every lane with something to do is among those that its turns look at. Part of
        # {Checker}.
        module Turns
          # @param connection [Connection] whose loop is about to wait
          def waits(connection)
            breakers_wait(connection)
            state = connection.state or return
            active = state.active.to_a
            @coverage.hit("outcomes collected") if supplied?(active.map { |lane| lane.assignment.slot })
            (state.all - active).each do |lane|
              next unless something_to_do?(lane)
              fail("I13", "no turn of #{connection.name} looks at #{lane.key.join("/")}: #{lane.snapshot}")
            end
          end

          private

          # @return [Boolean] whether workers have enough units of each lane whose loop asked to be woken when few are left
          def supplied?(slots)
            watched = slots.reject { |slot| slot.low_mark.nil? }
            watched.any? && watched.all? { |slot| slot.pending.size > slot.low_mark }
          end

          # Written from what the loop's parts ask, not from what makes a lane active.
          def something_to_do?(lane)
            !lane.inactive? || !lane.idle? || lane.wanted.positive? || lane.waiting? || lane.intake.waiting? ||
              lane.redelivery.due? || lane.probing.possible? || !lane.holds.reasons.empty? || lane.ledger.incomplete.positive?
          end
        end
      end
    end
  end
end
