# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks records that are dead-lettered or skipped: I12 (a dead letter is exact, for a record that failed often
        # enough, and acknowledged before its record counts as complete). Part of {Checker}.
        module Letters
          # A commit takes at most that long, unless something delays it.
          COMMITTED_MS = 100
          TOLD_MS = 300
          DELAY_MS = 4_000
          DELAYS = %i[commit cut slow_network slow_loop pause loading connection shuffle].freeze
          private_constant :COMMITTED_MS, :DELAY_MS, :TOLD_MS, :DELAYS

          # A dead letter is handed to the producer, which may accept it or not.
          # @return [Truth] its record
          def letter_offered(instance, message)
            truth = truth_in(message[:payload], message[:headers])
            @world.trace(:letter, instance.number, truth.uid)
            wrong = inexact(truth, message)
            fail("I12", "the dead letter of #{truth.inspect} has another #{wrong}: #{message}") if wrong
            if expired_letter?(message)
              expired_offered(instance, truth, message)
              return once_again(instance, truth)
            end
            quarantined = message[:headers]["penstock_reason"] == "quarantined"
            wrong = misled(truth, message, quarantined) if @plan.tiers
            fail("I12", "the letter of #{truth.inspect} #{wrong}: #{message}") if wrong
            once_more(instance, truth) unless quarantined
            attempts_of(truth, message) unless quarantined
            return once_again(instance, truth) if truth.sent.include?(instance)
            deserved(instance, truth, quarantined)
            in_outage(instance, truth) unless quarantined
            once_again(instance, truth)
          end

          def once_again(instance, truth)
            truth.sent << instance
            truth
          end

          def letter_acknowledged(truth) = truth.buried = true

          # The loop reports that a letter has arrived: from now on its record is complete.
          def letter_settled(instance, payload)
            @coverage.hit("dead letter")
            truth = read_as_written(payload[:message], "event of a dead letter")
            return put_away(instance, truth) if truth.buried
            fail("I12", "#{instance.name} counts #{truth.inspect} as complete before its dead letter was acknowledged")
          end

          # Skipped: there is no letter.
          def skipped(instance, payload)
            @coverage.hit("record skipped")
            truth = at(payload.values_at(:topic, :partition), payload[:offset])
            deserved(instance, truth, payload[:error].is_a?(QuarantinedError))
            put_away(instance, truth)
          end

          # The last one at this offset. A unit that began before its log was truncated may still end: then it is the
          # one that failed.
          def at(place, offset)
            there = @of_place[place].reverse.select { |truth| truth.offset == offset }
            there.find { |truth| truth.failures > @plan.letters.to_i } || there.first
          end

          # The commit declares that these records are tried alone.
          # @param before [Hash{Integer => Integer}] crashes by offset, as the previous commit had them
          def tried(place, driver, before, crashes)
            crashes.each do |offset, count|
              next unless count > before.fetch(offset, 0)
              truth = @of_place[place].reverse.find { |each| each.offset == offset }
              next died_often(truth, count) if @plan.run_on == :processes
              driver.closed? ? truth.deaths += 1 : truth.trial = driver
            end
          end

          # A record that may kill runs only after a commit has declared it, so that the group knows it; otherwise the
          # next owner of the partition would not suspect it.
          def announced(work, truth)
            suspects = work.lane.suspects
            return if suspects.nil? || @plan.run_on == :processes || @plan.budget || !suspects.suspect?(truth.offset)
            return if left_over?(work) || work.lane.leaving?
            return if @maps[work.place].nil? || @maps[work.place].crashes.key?(truth.offset)
            return if @straggler[work.place] || @reduced[[work.driver, work.place]]
            return unless @world.group.owner(work.place).equal?(work.driver)
            fail("I12", "#{work.inspect}: #{truth.offset} begins although it may kill and no commit declares it")
          end

          # They have ended, successfully or not, and that is committed soon. Units of an earlier owner end no later
          # trial.
          def trial_over(work)
            work.truths.each do |truth|
              next unless truth.trial.equal?(work.driver)
              truth.trial = false
              ended = truth.tried_until = @world.timeline.now
              truth.tried_by = work.driver
              @world.timeline.after(TOLD_MS) { told(work, truth) if truth.tried_until == ended && !lately?(truth) }
            end
          end

          # Its process died, or its partition was lost: that counts for records that were being tried, or were so
          # recently that the commit with their end may still be in flight.
          def died(place)
            @of_place[place].each do |truth|
              truth.deaths += 1 if truth.trial || lately?(truth) || end_uncommitted?(truth)
              truth.trial = false
              truth.tried_until = truth.tried_by = nil
            end
          end

          private

          def told(work, truth)
            return unless @maps[work.place]&.crashes&.key?(truth.offset)
            driver = work.driver
            return if driver.commits.outstanding? || @trouble[[driver, work.place]] || truth.trial
            return unless driver.assigned.include?(work.place)
            fail("I12", "#{work.inspect} has ended #{TOLD_MS} ms ago, the commit still declares that #{truth.offset} may kill")
          end

          def put_away(instance, truth)
            truth.ran = truth.done = true
            truth.redo = false
            truth.done_by = instance.driver
            truth.done_at = @world.timeline.now
            truth.licences += 1 unless @world.group.owner(truth.place).equal?(instance.driver)
          end

          # A letter that has arrived is sent again only if its record has failed again.
          def once_more(instance, truth)
            return unless truth.done && !truth.redo && truth.done_by.equal?(instance.driver)
            return if truth.done_at < @taken_at[[instance.driver, truth.place]] || truth.failed_at.nil?
            fail("I5", "the letter of #{truth.inspect} is sent again") if truth.failed_at < truth.done_at
          end

          # @return [String, nil] the field that differs
          def inexact(truth, message)
            record = truth.record
            expected = {payload: record.payload, key: record.key, timestamp: record.timestamp,
                        partition_key: truth.place[1].to_s}
            expected[:topic] = @plan.letter_topic unless @plan.tiers
            expected[:topic] = @plan.expired_topic if expired_letter?(message)
            wrong = expected.find { |field, value| message[field] != value }
            return wrong.first if wrong
            first = truth.origin
            origin = {"source_topic" => first.place[0], "source_partition" => first.place[1].to_s,
                      "source_offset" => first.offset.to_s, "source_consumer_group" => World::GROUP}
            {**first.record.headers.to_h, **origin}.find { |name, value| message[:headers][name] != value }&.first
          end

          def expired_letter?(message) = message[:headers]["penstock_reason"] == "expired"

          # A record that fails alone may be dead-lettered; records that fail together with all others are kept.
          def deserved(instance, truth, quarantined)
            @coverage.hit("quarantined") if quarantined
            breaker = instance.connection.breaker(truth.place) unless quarantined
            outage = breaker && !breaker.closed?
            return fail("I12", "#{instance.name} gave up #{truth.inspect} while the breaker is open") if outage
            enough = quarantined ? counted(truth, :deaths) >= quarantine_after : counted(truth, :failures) > @plan.letters.to_i
            return if enough
            fail("I12", "#{truth.inspect} is given up after #{truth.failures} failures and #{truth.deaths} deaths")
          end

          # Commits count by offset, so an owner that hasn't read the new log yet declares for it what was true of the
          # old one.
          def counted(truth, what)
            return truth.public_send(what) unless cut_below?(truth.place, truth.offset)
            @of_place[truth.place].sum { |each| (each.offset == truth.offset) ? each.public_send(what) : 0 }
          end

          # However long ago it ended: the last commit that the group stored declares it, and its owner has sent another that was
          # never answered, for instance because the coordinator can't be reached.
          def end_uncommitted?(truth)
            return false unless truth.tried_until && truth.tried_by.commits.outstanding?
            @maps[truth.place]&.crashes&.key?(truth.offset) || false
          end

          def lately?(truth)
            return false unless truth.tried_until
            now = @world.timeline.now
            return true if now - truth.tried_until <= COMMITTED_MS
            kept = (truth.tried_until - DELAY_MS)..now
            @plan.faults.any? { |fault| DELAYS.include?(fault.kind) && kept.cover?(fault.at) }
          end

          def quarantine_after = @plan.killer ? World::CRASHES : 3
        end
      end
    end
  end
end
