# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks which records are admitted, and when: I2 (no record runs that was filtered out, that isn't due yet, or
        # that is beyond a limit), I1 (nothing is dropped that isn't too old). Part of {Checker}.
        module Admission
          # The loop reports that it has dropped records.
          def dropped(payload)
            @coverage.hit("dropped: #{payload[:reason]}")
            return unless payload[:reason] == "expired"
            oldest = @world.clock.latest_ms - @plan.expire_ms
            range = payload[:first_offset]..payload[:last_offset]
            old = @of_place[payload.values_at(:topic, :partition)].select do |truth|
              range.cover?(truth.offset) && truth.record.timestamp < oldest
            end
            fail("I1", "dropped as too old: #{payload}, but only #{old.size} are") if old.size < payload[:count]
            old.each { |truth| truth.exempt = true }
          end

          # A filter resumes at another offset: as with a user's seek, records before it count as done, also those that
          # a pause left. With manual offsets only marked records count.
          def went_elsewhere(payload)
            @coverage.hit("filter sought")
            (@stepped_over ||= {})[payload.values_at(:topic, :partition)] = payload[:message].offset
          end

          private

          def stepped_over?(truth)
            to = @stepped_over&.fetch(truth.place, nil)
            truth.paused && !@plan.manual && !to.nil? && truth.offset < to
          end

          # A record begins to run.
          def admit(work, truth)
            fail("I2", "#{truth.inspect} runs, which a filter has taken out") if truth.filtered
            too_young(truth) if @plan.delay_ms
            beyond(work, truth) if @plan.throttle
            due(truth) if truth.tier.positive?
          end

          def too_young(truth)
            age = @world.clock.latest_ms - truth.record.timestamp
            fail("I2", "#{truth.inspect} runs #{age} ms after it was written") if age < @plan.delay_ms
          end

          # Within an assignment, at most as many records have begun as could be admitted since. A unit of an earlier
          # assignment may continue.
          def beyond(work, truth)
            place = [work.driver, work.place]
            return if work.begun_at < @taken_at[place]
            seen = @begun[place] ||= {}
            seen.clear unless seen[:since] == @taken_at[place]
            seen[:since] = @taken_at[place]
            seen[truth] = true
            most = @plan.throttle * (((@world.timeline.now - seen[:since]) / World::THROTTLE_MS) + 1)
            begun = seen.size - 1
            return if begun <= most
            fail("I2", "#{work.instance.name} began #{begun} records of #{work.place.join("/")}, #{most} may have come in")
          end
        end
      end
    end
  end
end
