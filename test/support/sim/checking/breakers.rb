# frozen_string_literal: true

require_relative "fresh_order"

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks outages and bad records: I12 (in an outage no record is dead-lettered; bad records are, after exactly
        # their attempts, and are not taken for an outage), I9 (nothing is held for longer than allowed). Based on what
        # happened to records, not on the breaker's own data. Part of {Checker}.
        module Breakers
          # A hold may end that much later: the loop was slow.
          SLACK_MS = 1_500
          # Units that begin together may be in another order than their records.
          WINDOWS = 3
          # Records that may have begun among those of a window, although the window doesn't count them.
          CROWD = 4
          # Letters in a row that can't be prevented: those before the breaker opens; twice, because nobody knows
          # whether a failure came before a success that ended at the same moment.
          UNKNOWING = 2 * (Routing::Features::Breaker::OUTAGE_AFTER - 1)
          private_constant :SLACK_MS, :WINDOWS, :CROWD, :UNKNOWING

          # The events of a topic and its retry topics in one process. `order`: its fresh records (with `run_on :processes` they
          # begin when they end, as their parent knows nothing before that), `row`: number of the sequence of outage errors that
          # no success has ended, `given_up`: records of such a sequence, `spent`: the hold was ended without a success,
          # `opening`: its number, `refused_at`: the last error of an outage, `ends`: when the present hold must have ended,
          # `opened_at`: when the event came, `gathered`: calls that ended without an error and completed nothing, since then,
          # `completed_at`: when one last completed a record, maybe before it failed, `by_hand`: a user has closed it.
          Seen = Struct.new(:order, :row, :given_up, :spent, :opening, :refused_at, :ends, :opened_at, :gathered,
            :completed_at, :by_hand)

          # A record of a unit begins.
          def fresh_begins(work, truth)
            counts_as_begun(work.instance, truth) if fresh?(work, truth) && !children?
          end

          def record_fails(work, truth, error)
            seen = seen(work.instance, truth)
            marked_before = marked_before?(work, truth)
            seen.row += 1 if marked_before
            seen.completed_at = @world.timeline.now if marked_before
            refused = error == Errno::ECONNREFUSED
            truth.failed_with(refused, fresh?(work, truth), [work.instance, seen.row])
            seen.refused_at = @world.timeline.now if refused
          end

          # A unit failed with any error, maybe before its first record.
          def fresh_failed(work)
            truth = work.at || work.truths.last
            return unless fresh?(work, truth)
            seen(work.instance, truth).order.fails(truth.uid, late: !truth.equal?(work.truths.first))
          end

          # A poll loop is about to wait.
          def breakers_wait(connection)
            @seen&.fetch(connection.instance, nil)&.each_value { |seen| seen.order.waits(connection) }
          end

          # The process of a pool that ran the record has died: the parent counts that as its failure.
          def fresh_died(instance, unit, truth)
            return unless truth.tier.zero? && unit.attempt == 1
            seen(instance, truth).order.fails(truth.uid, late: true)
          end

          # Fresh records succeeded: with manual offsets only those that were marked, as a consumer may hold the others.
          def fresh_ended(work)
            fresh = work.truths.select { |truth| fresh?(work, truth) }
            fresh.each { |truth| counts_as_begun(work.instance, truth) } if children?
            truths = fresh.select { |truth| truth.done || !@plan.manual }
            return if truths.empty?
            seen = seen(work.instance, truths.first)
            seen.row += 1
            seen.spent = false
          end

          # A call ended without an error.
          def ended_well(work)
            seen = seen(work.instance, work.truths.first || return)
            marked = @plan.manual || work.flow
            return seen.completed_at = @world.timeline.now unless marked && work.truths.none?(&:done)
            seen.gathered += 1
          end

          # A user is about to end an open breaker's hold.
          def released(instance, topics)
            @coverage.hit("breaker closed by hand")
            seen = seen_of(instance, topics.first)
            seen.spent = seen.by_hand = true
          end

          def breaker_opened(instance, payload)
            seen = seen_of(instance, payload[:topics].first)
            seen.opening += 1
            @opened = true
            @coverage.hit(payload[:of] ? "breaker opened: share" : "breaker opened: outage")
            mistaken(instance, payload) if payload[:of] && !justified?(seen, payload)
            fail("I12", "#{instance.name} takes bad records for an outage: #{payload}") if bad_alone? && !crowded?(seen, payload)
            seen.ends = nil
            seen.opened_at = @world.timeline.now
            seen.gathered = 0
            seen.by_hand = false
            ends_in_time(instance, seen, payload) if payload[:limit]
          end

          def breaker_closed(instance, payload)
            seen = seen_of(instance, payload[:topics].first)
            fail("I12", "#{instance.name} ends a hold without a reason: #{payload}") unless may_close?(instance, seen, payload)
            seen.opening += 1
            seen.ends = nil
            seen.spent = true unless payload[:reason] == :success
            @coverage.hit("breaker closed: #{payload[:reason]}")
          end

          # While a breaker is open, the first record that succeeds closes it. Where only bad records can be tried, it holds
          # them and those that follow them until its limit (docs/errors.md#outages).
          # @return [Integer, nil] when the last of these holds must have ended; nil where a record waits without such a reason
          def held_until
            ends = unprocessed.to_a.map { |truth| hold_of(truth) }
            ends.max if ends.any? && ends.all?
          end

          private

          # A hold ends by a success, by its limit, or by the user.
          def may_close?(instance, seen, payload)
            case payload[:reason]
            when :success then late_success?(instance) || succeeded_since?(seen) || seen.gathered >= gathered_most
            when :limit then payload[:held_ms] >= hold_limit && @world.timeline.now - seen.opened_at >= hold_limit - SLACK_MS
            when :command then seen.by_hand
            end
          end

          # With transactions, a unit's outcome is read when its transaction has ended, which may take long.
          def late_success?(instance) = unsure?(instance) || @plan.transactions

          def gathered_most = @plan.breaker || Routing::Features::Breaker::AFTER
          def hold_limit = @plan.hold_limit || Routing::Features::Breaker::LIMIT_MS

          # The call may have ended before the breaker opened: the loop read the outcomes in another order.
          def succeeded_since?(seen) = seen.completed_at && seen.completed_at >= seen.opened_at - SLACK_MS

          # @return [Integer, nil] when the hold ends because of which the record couldn't be tried with success
          def hold_of(truth)
            driver = @world.group.owner(truth.place) or return
            connection = @world.connection_of(driver) or return
            ends = seen(connection.instance, truth).ends
            ends if ends && ends > @world.timeline.now && behind_bad?(truth)
          end

          # Whether it is bad itself, or an earlier one of its sequence is: its owner may also have one that retention has deleted
          # since. With a partitioner the keys that share a sequence aren't known.
          def behind_bad?(truth)
            keyed = @plan.mode == :key && !@plan.partitioner
            @of_place[truth.place].any? do |other|
              next false if other.offset > truth.offset || other.done || !@world.script.bad?(other)
              !keyed || other.record.key == truth.record.key
            end
          end

          def children? = @plan.run_on == :processes

          def counts_as_begun(instance, truth) = seen(instance, truth).order.begins(truth.uid)

          def seen(instance, truth) = seen_of(instance, truth.origin.place[0])

          def seen_of(instance, topic)
            ((@seen ||= {})[instance] ||= {})[topic] ||=
              Seen.new(FreshOrder.new, 0, Hash.new { |all, row| all[row] = {} }, false, 0, -1, nil, nil, 0, nil, false)
          end

          # Records of its unit that were marked before it have succeeded.
          def marked_before?(work, truth)
            work.truths.take_while { |other| !other.equal?(truth) }.any? { |other| other.done && fresh?(work, other) }
          end

          # Its first attempt, as far as its process knows: of a unit that runs again, only the first record has failed before.
          def fresh?(work, truth)
            truth.tier.zero? && (work.consumer.attempt == 1 || !truth.equal?(work.truths.first))
          end

          # In this plan nothing fails except records that always do, and those are few.
          def bad_alone? = @plan.bad_every.to_i >= 5 && @plan.faults.none? { |fault| fault.kind == :outage } && only_bad?

          def only_bad? = @plan.fail_percent.zero? && @plan.poison_percent.zero? && @plan.breaker.nil? && !@plan.killer

          # Within a few windows enough of them failed.
          def justified?(seen, payload) = seen.order.failed_within?(WINDOWS * payload[:of], payload[:count])

          # One record in five is bad, but keys run in another order than their records were written: ten bad ones may begin
          # close to each other by chance.
          def crowded?(seen, payload)
            payload[:of] && seen.order.failed_within?(payload[:of] + CROWD, payload[:count])
          end

          def mistaken(instance, payload)
            order = seen_of(instance, payload[:topics].first).order
            fail("I12", "#{instance.name} opens for #{payload[:count]} of #{payload[:of]} records, but of #{order.size} " \
              "fresh ones #{order.failed.size} failed: #{payload}")
          end

          # Errors of an outage extend the hold as long as they occur. A process that has no partition of the topics holds
          # none: its breaker closes when it gets one.
          def ends_in_time(instance, seen, payload)
            limit_ms = payload[:limit]
            opening, stood, began = seen.opening, instance.stood_ms, @world.timeline.now
            seen.ends = began + limit_ms + SLACK_MS
            @world.timeline.after(limit_ms + SLACK_MS) do
              next unless seen.opening == opening && instance.running? && !instance.paused? && instance.stood_ms == stood
              next if instance.stopping? || seen.refused_at >= began || instance.slow_until > @world.timeline.now
              next if instance.lanes.none? { |lane| payload[:topics].include?(lane.topic_name) }
              fail("I9", "#{instance.name} holds a topic since #{began} ms, for longer than #{limit_ms} ms")
            end
          end

          # A letter of a record that failed in an outage: the first ones can't be distinguished from bad records.
          def in_outage(instance, truth)
            seen = seen(instance, truth)
            return if seen.spent || truth.tier.positive? || unsure?(instance)
            process, row = truth.refused_in
            return unless instance.equal?(process)
            given_up = seen.given_up[row]
            given_up[truth.uid] = true
            return if given_up.size <= UNKNOWING
            fail("I12", "#{instance.name} gives up #{truth.inspect} in an outage, #{given_up.size} in a row: #{given_up.keys}")
          end

          # With these the order in which outcomes reach the loops is unknown.
          def unsure?(instance) = instance.connections.size > 1 || !@plan.run_on.nil?

          # The count of attempts in a dead letter.
          def attempts_of(truth, message)
            told = message[:headers]["source_attempts"].to_i
            return if @plan.tiers || !@plan.isolate || told == @plan.letters + 1
            return if @plan.run_on == :processes && told > @plan.letters
            fail("I12", "the dead letter of #{truth.inspect} contains #{told} attempts instead of #{@plan.letters + 1}")
          end

          # @return [String, nil] a bad record that was not dead-lettered after exactly its attempts
          def inexact_end
            return unless @plan.calm && @plan.letters # only with letters
            # The failures that opened a breaker, and those while it is open, aren't counted as attempts. Whether it had a
            # reason to open was checked then.
            return if @opened
            bad = @truths.select { |truth| @world.script.bad?(truth) && !truth.exempt }
            bad.each { @coverage.hit("bad record given up") }
            bad.lazy.filter_map { |truth| inexact_way(truth) }.first
          end

          # @return [String, nil]
          def inexact_way(truth)
            wanted = @plan.tiers ? 1 : @plan.letters + 1
            return "#{truth.inspect} failed #{truth.failures} times, instead of #{wanted}" unless truth.failures == wanted
            last = truth.tier == @plan.tiers.to_a.size
            "#{truth.inspect} is no dead letter" if truth.sent.empty? && (@plan.letter_topic || !last)
          end
        end
      end
    end
  end
end
