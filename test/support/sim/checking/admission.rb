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
            range = payload[:first_offset]..payload[:last_offset]
            old = @of_place[payload.values_at(:topic, :partition)].select do |truth|
              range.cover?(truth.offset) && expired?(truth)
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

          # A record is to be sent to the topic of expired ones.
          def expired_offered(instance, truth, message)
            @coverage.hit("expired: sent to its topic")
            @coverage.hit("expired: after a failure") if truth.failures.positive?
            fail("I12", "#{truth.inspect} is sent to the expired ones, but isn't too old") unless expired?(truth)
            attempts = message[:headers]["source_attempts"].to_i
            before = truth.record.headers.to_h["penstock_attempt"].to_i
            most = before + counted(truth, :failures)
            fail("I12", "#{attempts} attempts of #{truth.inspect}") unless attempts.between?(before, most)
            expired_again(instance, truth) if truth.done
          end

          private

          # As for records that run again.
          def expired_again(instance, truth)
            return if truth.redo || !@world.group.owner(truth.place).equal?(instance.driver)
            truth.redo = true
            return truth.licences -= 1 if truth.licences.positive?
            fail("I5", "the letter of #{truth.inspect} is sent again, although it was done")
          end

          # @return [Boolean] whether it is older than its own time to live, or else than the route's
          def expired?(truth)
            own = @plan.own_times && {"300" => 300, "2000" => 2_000}[truth.record.headers.to_h[World::TTL]]
            ttl = own || @plan.expire_ms
            !ttl.nil? && truth.record.timestamp < @world.clock.latest_ms - ttl
          end

          # @return [Integer, nil] its own delay, or else the route's
          def delay_of(truth)
            own = @plan.own_times && {"50" => 50, "9999999" => World::MOST_DELAY_MS, "0" => 0}[truth.record.headers.to_h[World::DELAY]]
            own || @plan.delay_ms
          end

          def stepped_over?(truth)
            to = @stepped_over&.fetch(truth.place, nil)
            truth.paused && !@plan.manual && !to.nil? && truth.offset < to
          end

          # A record begins to run.
          def admit(work, truth)
            fail("I2", "#{truth.inspect} runs, which a filter has taken out") if truth.filtered
            too_young(truth, delay_of(truth)) if delay_of(truth)
            beyond(work, truth, @plan.throttle) if @plan.throttle
            beyond(work, truth, @plan.key_throttle, truth.record.key) if @plan.key_throttle && truth.record.key
            due(truth) if truth.tier.positive?
          end

          def too_young(truth, delay_ms)
            age = @world.clock.latest_ms - truth.record.timestamp
            fail("I2", "#{truth.inspect} runs #{age} ms after it was written") if age < delay_ms
          end

          # When it was admitted it had expired, so it wasn't counted, and then the clock was set back.
          def set_back?(truth) = expired?(truth) && @world.clock.wall_ms < @world.clock.latest_ms

          # Within an assignment, at most as many records have begun as could be admitted since. A unit of an earlier
          # assignment may continue.
          def beyond(work, truth, limit, key = nil)
            place = [work.driver, work.place]
            return if work.begun_at < @taken_at[place] || set_back?(truth)
            seen = @begun[[*place, *key]] ||= {}
            seen.clear unless seen[:since] == @taken_at[place]
            seen[:since] = @taken_at[place]
            @coverage.hit("a key up to its limit") if key && seen.size == limit
            seen[truth] = true
            most = limit * (((@world.timeline.now - seen[:since]) / World::THROTTLE_MS) + 1)
            begun = seen.size - 1
            return if begun <= most
            fail("I2", "#{work.instance.name} began #{begun} records of #{work.place.join("/")}, #{most} may have come in")
          end
        end
      end
    end
  end
end
