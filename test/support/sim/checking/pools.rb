# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks users' code in processes of a pool: which effects their deaths excuse. A death is one record's failure;
        # the other units of its process, unstarted or finished without a report, run again without being blamed. Part
        # of {Checker}.
        module Pools
          # Users' code ends with its process, at once.
          def member_died(member)
            work = @busy.find { |each| each.member.equal?(member) } or return
            @busy.delete(work)
            late_perhaps(work)
          end

          # The parent has noticed it.
          def child_died(instance, pid)
            driver = instance.host.processes.driver_of(pid) or return
            state = driver.instance_variable_get(:@child).state
            entries = driver.in_flight.to_a
            culprit = driver.in_flight[state.unit] if state
            return unless entries.any?
            @coverage.hit("pool: died with units")
            @coverage.hit("pool: died with what it had not begun") if (culprit ? entries.size : entries.size + 1) > 1
            blamed = culprit || entries.first
            fresh_died(instance, blamed.unit, blame(blamed, state))
            entries.each { |entry| unheard(entry.unit, entry.equal?(culprit) ? known_through(entry, state) : -1) }
          end

          # The parent learns of failed units later than they failed.
          def failure_heard(unit)
            wall = @world.clock.wall_ms
            unit.messages.each { |message| truth_of(message).failed_walls << wall } if @plan.tiers
          end

          private

          # Deaths are counted when the parent learns of them; nothing is tried alone here.
          def died_often(truth, count)
            return if count <= counted(truth, :deaths)
            fail("I12", "a commit says that #{truth.inspect} has killed #{count} times instead of #{truth.deaths}")
          end

          # The record it was at has killed, and failed; where failures aren't isolated, the first unmarked record has
          # failed.
          # @return [Truth] the record it was at
          def blame(entry, state)
            unit = entry.unit
            offset = state&.offset || unit.messages.blamed_offset
            truths = truths_of(unit)
            truths.each { |truth| truth.failed_now(@world) }
            culprit = truths.find { |truth| truth.offset == offset }
            culprit.deaths += 1
            through = known_through(entry, state)
            first = truths.find { |truth| truth.offset >= through } unless @plan.isolate
            (first || culprit).failures += 1
            culprit
          end

          # The parent knows what the shared_status shows as marked, if the partition is still the parent's.
          def known_through(entry, state)
            unit = entry.unit
            current = unit.lane.owned? && unit.incarnation == unit.lane.incarnation
            (current && state&.through) || -1
          end

          # Marked in a process that doesn't know yet that its lane has a new incarnation: the call returned true, and
          # doesn't count. The unit's own records were running at that time, so they have their licence.
          def outdated?(work, truth)
            return false if work.member.nil? || work.truths.include?(truth)
            child_lane = work.consumer.instance_variable_get(:@penstock_context).lane
            entry = work.member.driver.in_flight[child_lane.unit]
            !entry.nil? && entry.unit.incarnation < entry.lane.incarnation
          end

          # Records that ended without the parent's knowledge run again.
          def unheard(unit, known)
            done = said_done(unit).select { |truth| truth.done && truth.offset >= known }
            return if done.empty?
            driver = Work.driver_of(unit.lane)
            @coverage.hit("pool: reply lost")
            @coverage.hit("pool: reply lost + revoke") unless driver.assigned.include?(unit.lane.key)
            done.each do |truth|
              truth.licences += 1
              truth.done_by = nil if truth.done_by.equal?(driver)
            end
          end

          # A mark of the unit may have covered records that were handed out before it, too, and its success those of a unit
          # that paused: after an error these run again.
          def said_done(unit)
            own = truths_of(unit)
            return own unless @plan.mode == :whole
            before = @of_place[unit.lane.key].select { |truth| truth.offset < unit.upto && (@plan.manual || truth.paused) }
            own | before.reject { |truth| unit.lane.ledger.complete?(truth.offset) }
          end

          def truths_of(unit) = unit.messages.map { |message| truth_of(message) }

          # Exceeding the limit is a failure of the record it was at.
          def out_of_time(work)
            @coverage.hit("out of time")
            (work.at || work.truths.last).failures += 1
          end
        end
      end
    end
  end
end
