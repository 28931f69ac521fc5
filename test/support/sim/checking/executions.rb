# frozen_string_literal: true

require_relative "../truth"

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks what users' code does: I2 (nothing invented), I3 (order), I4 (no overlap), I5 (nothing done runs again
        # without a licence). Part of {Checker}.
        module Executions
          # A worker begins a unit: of an assigned partition, in the incarnation in which it was handed out.
          def unit_begun(instance, unit)
            return unless unit.consume?
            fail("I4", "#{instance.name} begins #{unit.messages.inspect} of a partition that was revoked") unless
              Work.driver_of(unit.lane).assigned.include?(unit.lane.key)
            fail("I5", "#{instance.name} begins #{unit.messages.inspect} although it was called back") if
              unit.incarnation < unit.lane.incarnation
          end

          def unit_begins(sleeper, consumer)
            instance = sleeper.instance
            place = [consumer.topic.name, consumer.partition]
            work = Work.new(instance, place, consumer.messages.map { |message| truth_of(message) }, consumer,
              sleeper.member)
            other = @busy.find do |running|
              running.instance.equal?(instance) && collide?(running, work) && known_of?(running, work)
            end
            other ||= beside(work.lane) if work.lane.suspects&.one_at_a_time?
            other ||= @calls.find { |_consumer, lane| lane.equal?(work.lane) }&.first
            fail("I4", "#{work.inspect} begins while #{other.inspect} runs") if other
            work.begun_at = @world.timeline.now
            work.begun_step = @world.timeline.steps
            @busy << work
            work
          end

          def record_begins(work, message)
            truth = read_as_written(message, "consume")
            @world.trace(:record, work.instance.number, truth.uid)
            unless message.offset == truth.offset && work.place == truth.place && message.raw_key == truth.record.key
              fail("I2", "#{message.uid} is not what was written as #{truth.uid}")
            end
            admit(work, truth)
            announced(work, truth)
            fresh_begins(work, truth)
            work.at = truth
            in_order(truth)
            again(work, truth) if truth.done && !truth.exempt
            truth.failed_at = nil
            truth
          end

          def record_ran(_work, truth) = truth.ran = true

          def marked(work, truth, answer) = (marks(work, truth) if answer)

          def marks(work, truth)
            forgets_nothing(work, truth) if @plan.forgets
            covered = covered(work, truth)
            work.marked(covered)
            covered.each { |other| done(work, other) if other.ran && (!other.done || other.redo) }
          end

          # A consumer that gathers has written these.
          def wrote(truths) = truths.each { |truth| truth.kept = true }

          # It has failed, and may have lost the records it held: all that aren't done run again, if the partition is
          # still its own.
          def forgotten(truths, consumer)
            lane = @world.lane_of(consumer)
            return unless @world.group.owner(lane.key).equal?(Work.driver_of(lane))
            truths |= @of_place[lane.key] if @plan.mode == :whole
            truths.each { |truth| truth.paused = false if truth.ran && (!truth.done || truth.redo) }
          end

          # A mark that waits for its acknowledgement counts from its beginning; without an answer its effect is
          # unknown.
          def waited(work, truth, answer)
            return @coverage.hit("mark with acknowledgement") if answer
            covered(work, truth).each { |other| other.licences += 1 if other.done_by.equal?(work.driver) }
          end

          def unit_ended(work)
            @busy.delete(work)
            trial_over(work)
            late_perhaps(work)
            fresh_ended(work)
            ended_well(work)
            return flow_changed(work) if work.flow
            return left_unmarked(work) if @plan.manual
            work.truths.each { |truth| truth.ran = true }
            marks(work, work.truths.last)
          end

          def unit_failed(work, error)
            @busy.delete(work)
            trial_over(work)
            @coverage.hit("unit interrupted") if error.is_a?(Interrupted)
            @coverage.hit("transaction: no longer ours") if error.is_a?(AssignmentLostError)
            work.truths.each { |truth| truth.failed_now(@world) }
            fresh_failed(work)
            out_of_time(work) if error.is_a?(TimeLimitExceeded)
            blame_first(work) unless @plan.isolate
            excuse_others(work)
            late_perhaps(work)
          end

          # A method other than `consume` is called: nothing of the lane runs at the same time.
          # @return [Array] to be passed to {#call_ended}
          def call_begins(consumer, name)
            @coverage.hit("call of #{name}")
            lane = @world.lane_of(consumer)
            other = beside(lane)
            fail("I4", "#{name} of #{lane.key.join("/")} is called while #{other.inspect} runs") if other
            [consumer, lane].tap { |call| @calls << call }
          end

          def call_ended(call) = @calls.delete_if { |other| other.equal?(call) }

          # User code asks the consumer for another flow: if a unit of it runs, the request belongs to the unit.
          def asked(consumer, flow)
            work = @busy.find { |each| each.consumer.equal?(consumer) }
            return unless work
            work.flow = flow
            work.goes_on_at = nil
            runs_again_after_pause(work) if flow == :pause
          end

          # Within the log, so that only the seek itself has an effect.
          def seekable(work, target)
            log = @world.cluster.log(*work.place)
            target.clamp(log.low, log.high)
          end

          def seeks(work, target)
            work.flow = :seek
            @coverage.hit("seek with units waiting") if @world.waits?(work)
            others = @busy.select { |other| other.instance.equal?(work.instance) && other.place == work.place }
            @coverage.hit("seek with units running") if others.size > 1
            sought(work.place, target, (work.truths.map(&:offset) unless @plan.mode == :whole || @plan.manual))
          end

          # Records that the user skips count as done, records that are sought again may run again.
          # @param own [Array<Integer>, nil] where keys run in parallel, records of the call: up to the last no others are skipped
          def sought(place, target, own = nil)
            @back[place] = [@back[place], target].compact.min
            @of_place[place].each do |truth|
              next if truth.exempt || truth.offset >= target
              next before_seek(truth) if own && truth.offset < own.last && !own.include?(truth.offset)
              truth.licences += 1
              truth.ran = truth.done = true
            end
          end

          def before_seek(truth) = (@coverage.hit("seek with records before it") unless truth.done)

          # @param from [Truth, nil] where it resumes
          def pauses(work, from = nil)
            work.flow = :pause
            runs_again_after_pause(work)
            work.goes_on_at = from or return
            again = work.truths.select { |truth| truth.uid >= from.uid }
            again.each { |truth| truth.licences += 1 if truth.done }
          end

          private

          # The failure counts for the first record that isn't complete, regardless of which one failed. Records that
          # another owner has completed meanwhile aren't complete for this one.
          def blame_first(work)
            first = work.truths.find { |truth| !truth.done || truth.redo || work.reruns?(truth) || !known?(work, truth) }
            first.failures += 1 if first
          end

          # Users who mark late, or gather, may mark records of the unit before they run again.
          def runs_again_after_pause(work)
            work.truths.each { |truth| truth.licences += 1 } if @plan.forgets || @plan.late
          end

          # @return [Work, nil] the running unit of the lane
          def beside(lane) = @busy.find { |running| running.lane.equal?(lane) }

          # The records that must run in order with it: its partition's, its key's, or none.
          def sequence(truth)
            case @plan.mode
            when :whole then @of_key[truth.place]
            when :key then @of_key[[truth.place, truth.record.key]] if truth.record.key
            end
          end

          # A unit that another connection began after it lost the partition, without knowing that yet, can't be known,
          # even in the same millisecond.
          def known_of?(running, work)
            running.connection.equal?(work.connection) || running.begun_step <= @taken_step[[work.driver, work.place]]
          end

          def collide?(one, other)
            return false unless one.place == other.place
            case @plan.mode
            when :whole then true
            when :key then one.truths.first.record.key == other.truths.first.record.key && !other.truths.first.record.key.nil?
            else one.truths.intersect?(other.truths)
            end
          end

          # No mark passes a record that its consumer has lost.
          def forgets_nothing(work, truth)
            lost = covered(work, truth).find { |other| !other.kept && other.open? && !cut_below?(other.place, other.offset) }
            return unless lost
            fail("I1", "#{work.inspect} marks #{truth.offset} of #{truth.place.join("/")}, but #{lost.offset} was never " \
              "written: a consumer has lost it with an error")
          end

          # The records that a mark completes.
          def covered(work, truth)
            case @plan.mode
            when :whole then @of_place[truth.place].take_while { |other| other.uid <= truth.uid }
            when :key then work.truths.take_while { |other| other.uid <= truth.uid }
            else (work.truths.last.equal?(truth) && work.flow.nil?) ? work.truths : [truth]
            end
          end

          # All records before it in its sequence have run.
          def in_order(truth)
            all = sequence(truth) or return
            index = @order[all.first.uid]
            index += 1 while (first = all[index]) && (first.ran || first.exempt)
            @order[all.first.uid] = index
            return unless first && first.uid < truth.uid && !cut_below?(truth.place, first.offset)
            fail("I3", "#{truth.place.join("/")}: offset #{truth.offset} begins before #{first.offset} has run")
          end

          # A process that doesn't know yet that it has lost the partition needs no licence: its commit is refused.
          def again(work, truth)
            return work.runs_again(truth) unless @world.group.owner(work.place).equal?(work.driver)
            return if truth.redo || left_over?(work)
            truth.redo = true
            return truth.licences -= 1 if truth.licences.positive?
            fail("I5", "#{work.instance.name} runs #{truth.place.join("/")}/#{truth.offset} again, which is done")
          end

          # Begun in an assignment that was lost, and still running when the partition was assigned again.
          def left_over?(work) = work.begun_step < @taken_step[[work.driver, work.place]]

          def done(work, truth)
            here = work.begun_at >= @taken_at[[work.driver, work.place]]
            truth.done = true
            truth.redo = false
            truth.done_by = here ? work.driver : nil
            truth.done_at = @world.timeline.now
            truth.licences += 1 unless here && @world.group.owner(work.place).equal?(work.driver) && !outdated?(work, truth)
          end

          # A mark that follows completes them too; without one they stay incomplete, as their user wanted.
          def left_unmarked(work)
            excuse_others(work)
            work.truths.each { |truth| truth.paused = true if !truth.done || truth.redo }
          end

          # An unmarked record isn't complete. In the mode :whole a pause resumes after the unit, so the unit completes
          # with what follows.
          def flow_changed(work)
            work.truths.each { |truth| truth.paused = true } if @plan.mode == :whole && work.flow == :pause
            passed(work) if work.goes_on_at && work.flow == :pause && @plan.mode != :whole && !@plan.manual
            excuse_others(work)
          end

          # Where keys run in parallel, records before the one that a pause names are complete.
          def passed(work)
            work.truths.each { |truth| done(work, truth) if truth.uid < work.goes_on_at.uid && (!truth.done || truth.redo) }
          end

          # This client doesn't know what another owner has completed meanwhile, nor what it did itself in an earlier
          # assignment. A unit whose partition was lost changes nothing there: its records run again at no client.
          def excuse_others(work)
            return if left_over?(work) || !@world.group.owner(work.place).equal?(work.driver)
            work.truths.each { |truth| truth.redo = true if truth.done && !known?(work, truth) }
          end

          # Whether the client knows in this assignment that it is done: it did it itself, or marked a record that another
          # owner had completed.
          def known?(work, truth)
            taken_at = @taken_at[[work.driver, work.place]]
            return true if work.marked?(truth) && work.begun_at >= taken_at
            truth.done_by.equal?(work.driver) && truth.done_at.to_i >= taken_at
          end

          def late_perhaps(work)
            @coverage.hit("late outcome") unless work.driver.assigned.include?(work.place)
          end
        end
      end
    end
  end
end
