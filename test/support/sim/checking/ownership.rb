# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks who owns which partition: I4 (nothing runs after its partition was revoked, except what outlasted the
        # drain), I5 (what is done is committed when a partition is revoked in order; otherwise it gets a licence to run
        # again). Part of {Checker}.
        module Ownership
          STYLES = {eager: "eager", cooperative: "cooperative", consumer: "KIP-848"}.freeze
          OUTCOME_MS = 50
          private_constant :STYLES, :OUTCOME_MS

          # Called when a revocation's event was handed to the loop.
          def revocation_begins(driver, keys, lost)
            connection = @world.connection_of(driver) or return
            @revoked_at[driver] = @world.timeline.now
            @coverage.hit("rebalance: #{STYLES.fetch(driver.group.style)}")
            running = keys.any? { |key| running_on(connection, key) }
            @coverage.hit(lost ? "lost with units running" : "rebalance with units running") if running
            @coverage.hit("retry pending + revoke") if keys.any? { |key| retrying?(key) }
            waiting(connection, keys)
            @coverage.hit("stop during a rebalance") if connection.stopping?
          end

          def taken_over(driver, keys)
            keys.each { |key| begins(driver, key) }
            waits = @plan.connections && driver.waiter.lanes.any? { |lane| lane.holds.include?(:other_connection) }
            @coverage.hit("waits for another connection") if waits
          end

          def revoked(driver, keys, lost)
            connection = @world.connection_of(driver) or return
            lost ||= @world.group.member_of(driver).nil?
            keys.each do |key|
              running = running_on(connection, key)
              next gone_otherwise(key) if lost
              orphaned_units(connection, driver, key, running) if running && running.begun_at > @taken_at[[driver, key]]
              next revoked_late(connection, driver, key, running) if running || over_drain?(driver, connection)
              handed_over(connection, driver, key, false)
            end
          end

          def closed(driver, keys)
            connection = @world.connection_of(driver) or return
            orderly = connection.loop.finished? && !connection.loop.forced
            keys.each do |key|
              # A stop waits for letters until its deadline. A letter that arrives after its last commit is sent again
              # elsewhere.
              next excuse(key, committed(key), 1) if orderly && letter_too_late?(driver, key)
              handed_over(connection, driver, key, !orderly || driver.commits.outstanding?)
            end
          end

          def came_back(_driver) = @coverage.hit("static member came back")

          def expelled(driver)
            @coverage.hit("rejoin as another member")
            driver.assigned.each { |key| gone_otherwise(key) }
          end

          # The process is dead.
          def crashed(instance)
            @coverage.hit("crash with units running") if @busy.any? { |work| work.instance.equal?(instance) }
            @coverage.hit("crash with suspects") if instance.lanes.any? { |lane| lane.suspects&.announced? }
            @coverage.hit("crash with a suspect alone") if instance.lanes.any? { |lane| lane.suspects&.one_at_a_time? }
            @busy.reject! { |work| work.instance.equal?(instance) }
            instance.drivers.each { |driver| driver.assigned.each { |key| gone_otherwise(key) } }
          end

          private

          # The client doesn't know in this assignment what it did in an earlier one, even in the same millisecond.
          def begins(driver, key)
            @taken_at[[driver, key]] = @world.timeline.now
            @taken_step[[driver, key]] = @world.timeline.steps
            @of_place[key].each { |truth| truth.done_by = nil if truth.done_by.equal?(driver) }
          end

          # Not in order: nobody could commit its progress.
          def gone_otherwise(key)
            died(key)
            excuse(key, committed(key), 1)
          end

          def letter_too_late?(driver, key)
            said = @said_at[[driver, key]] or return
            @of_place[key].any? { |truth| truth.sent.any? && truth.done_by.equal?(driver) && truth.done_at >= said }
          end

          # Covers what waits in revoked lanes.
          def waiting(connection, keys)
            lanes = connection.lanes.select { |lane| keys.include?(lane.key) }
            @coverage.hit("park + revoke") if lanes.any? { |lane| lane.by_key? && lane.division.to_h[:parked].positive? }
            @coverage.hit("dead letter pending + revoke") if lanes.any? { |lane| lane.instance_variable_get(:@letters).positive? }
            @coverage.hit("open breaker + revoke") if lanes.any? { |lane| lane.holds.include?(:breaker) }
            @coverage.hit("preparing + revoke") if lanes.any? { |lane| lane.intake.preparing }
          end

          # The drain ended before everything had ended: records that were completed some time before are committed all
          # the same.
          def revoked_late(connection, driver, key, running)
            left = first_left(driver, key, committed(key)) { |truth| truth.done_at < early_commit_at(driver) }
            return gone_otherwise(key) if left.nil? || hampered?(connection, driver, key)
            fail("I5", "#{connection.name} returns #{key.join("/")} after its drain#{" while a unit runs" if running}, ~" \
              "committed at #{committed(key)}, but #{left.offset} was done at #{left.done_at} ms")
          end

          # When the early commit is due, minus the time that an outcome takes to reach the loop.
          def early_commit_at(driver) = @revoked_at.fetch(driver, 0) + (@plan.drain_ms * 3 / 4) - OUTCOME_MS

          # Its commit can't have been sent, or answered, in time.
          def hampered?(connection, driver, key)
            instance = connection.instance
            connection.stopping? || driver.commits.outstanding? || @trouble.any? || @reduced[[driver, key]] || @plan.budget ||
              @back.key?(key) || @plan.run_on || instance.slow_until >= early_commit_at(driver) || instance.stood_ms.positive?
          end

          def first_left(driver, key, from)
            @of_place[key].find do |truth|
              done_here?(truth, driver, key) && truth.offset >= from && !mapped?(key, truth) && (!block_given? || yield(truth))
            end
          end

          # In order: what is done is committed; otherwise it may run again.
          def handed_over(connection, driver, key, forced)
            from = committed(key)
            return gone_otherwise(key) if forced
            return excuse(key, from, 1) if @reduced[[driver, key]] # offsets from a former owner's map are lost as well
            left = first_left(driver, key, from) or return
            return excuse(key, from, 1) if @plan.budget || refused?(driver) || @back.key?(key)
            fail("I5", "#{connection.name} returns #{key.join("/")} in order, committed at #{from}, but #{left.offset} is done")
          end

          # If one commit carries a wrong generation, all of that client do.
          def refused?(driver) = @trouble.any? { |(other, _key), _| other.equal?(driver) }

          # With this client, in the assignment that ends.
          def done_here?(truth, driver, key)
            truth.done && truth.done_by.equal?(driver) && !truth.exempt && truth.done_at >= @taken_at[[driver, key]]
          end

          def orphaned_units(connection, driver, key, work)
            return if over_drain?(driver, connection)
            fail("I4", "#{connection.name} returns #{key.join("/")} while #{work.offsets} runs and the drain has time left")
          end

          def over_drain?(driver, connection)
            patience = connection.stopping? ? 0 : @plan.drain_ms
            @world.timeline.now - @revoked_at.fetch(driver, 0) >= patience
          end

          # Everything that is done above the committed offset may run that many times more.
          def excuse(place, from, times)
            running = running(place)
            @of_place[place].each do |truth|
              next if truth.exempt || truth.offset < from
              truth.licences += times if truth.done || running.include?(truth)
            end
          end

          # Running records, and those that a worker has taken and is about to begin.
          def running(place)
            units = @world.running_instances.flat_map(&:units).select { |unit| unit.consume? && unit.lane.key == place }
            @busy.select { |work| work.place == place }.flat_map(&:truths) |
              units.flat_map { |unit| unit.messages.map { |message| truth_of(message) } }
          end

          def running_on(connection, place) = @busy.find { |work| work.connection.equal?(connection) && work.place == place }

          def retrying?(place) = @of_place[place].any? { |truth| truth.failed_at && truth.open? }
        end
      end
    end
  end
end
