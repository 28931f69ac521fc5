# frozen_string_literal: true

require "zlib"
require_relative "copying"
require_relative "forgetting"
require_relative "hopping"

module Penstock
  module TestSupport
    module Sim
      # The users' code: depending on the plan's seed it takes time, fails, marks, seeks, pauses, leaves early. The
      # effect of a record depends on the record and the attempt only, so that a smaller plan behaves alike.
      class Script
        include Copying
        include Forgetting
        include Hopping

        class Failure < StandardError; end

        # A dependency is unavailable, and the error's class isn't known as that of an outage.
        class Down < StandardError; end

        # Messages that a consumer keeps.
        KEPT = 3
        private_constant :KEPT

        # @param world [World]
        def initialize(world)
          @world = world
          @plan = world.plan
          @checker = world.checker
          @salt = (@plan.seed * 2_654_435_761) & 0xffff_ffff
        end

        # Runs inside `consume`.
        def consume(consumer)
          sleeper = on_worker
          sleeper.users do
            nap(0) if @plan.quick && @world.random.rand(4).zero? # time for events between two calls
            run_unit(sleeper, consumer)
          end
        end

        def run_unit(sleeper, consumer)
          work = @checker.unit_begins(sleeper, consumer)
          last = last_call(consumer).begin(work)
          chance = chance(work.truths.first.uid, consumer.attempt)
          @plan.transactions ? copy(consumer, work, chance) : run(consumer, work, chance)
          gather(consumer, work) if @plan.forgets
          wish(consumer, work, chance)
          wish_for_tick(consumer) if @plan.tick_in && (chance % 3).zero?
          @checker.unit_ended(work)
          last.ended = !consumer.stopping? # it may have left early
        rescue Exception => error # rubocop:disable Lint/RescueException -- told to the checker and raised again
          last&.failed = true
          @checker.unit_failed(work, error) if work
          forget(consumer) if @plan.forgets
          raise
        end

        # Runs inside `revoked` and `shutdown`.
        def hook(consumer, name)
          call = @checker.call_begins(consumer, name)
          @checker.ticked(@world.lane_of(consumer)) if name == :tick
          last = last_call(consumer)
          given = consumer.messages.map(&:offset)
          @checker.fail("I2", "#{name} is given #{given}, not #{last.offsets}") unless given == last.offsets
          kept(consumer).each_value { |message| @checker.read_as_written(message, "a message kept until #{name}") }
          on_worker.users do
            nap(chance(consumer.partition, name.size) % 50)
            write_rest(consumer) if @plan.forgets
            mark_last(consumer, last, name)
          end
        rescue Failure
          forget(consumer)
          raise
        ensure
          @checker.call_ended(call)
        end

        # Runs in `enhance_dlq_message`.
        def enhance(message)
          on_worker
          @checker.read_as_written(message, "enhance_dlq_message")
        end

        # Runs in a filter: whether it lets the record pass. Takes time, and fails now and then.
        def keep?(message)
          on_worker
          truth = @checker.read_as_written(message, "filter")
          chance = chance(truth.uid, :filter)
          unless @world.healed?
            nap(chance % 60) if (chance >> 8) % 10 == 0
            filter_fails(truth) if (chance >> 16) % 30 == 0
          end
          !truth.filtered
        end

        # Whether a record fails whenever it runs: one in that many, or all of one key in that many.
        # @param truth [Truth]
        def bad?(truth)
          return false if @plan.bad_every.nil?
          first = truth.origin
          number = @plan.bad_keys ? first.record.key.to_s[1..].to_i : first.uid
          number % @plan.bad_every == 2
        end

        # The filter removes one record in five.
        def drops?(uid) = !@plan.filter.nil? && chance(uid, :drop) % 5 == 0

        # Whether the partition should wait, or resume at another offset, at one of these.
        # @return [Array(Symbol, Message, Integer), nil]
        def turn(messages)
          return if @world.healed?
          message = messages.find { |each| chance(@checker.truth_of(each).uid, :turn) % 12 == 0 }
          truth = message && @checker.truth_of(message)
          return if truth.nil? || truth.turned
          truth.turned = true
          [truth.uid.even? ? :pause : :seek, message, 20 + (truth.uid * 7)]
        end

        # Runs in a partitioner.
        def key_of(message)
          on_worker
          uid = @checker.read_as_written(message, "partitioner").uid
          nap(uid % 30) if !@world.healed? && chance(uid, :partition) % 20 == 0
          message.raw_key
        end

        private

        # The last call of a consumer: whether it raised, and whether it surely went through all of its records.
        LastCall = Struct.new(:work, :offsets, :failed, :ended) do
          def begin(work)
            self.work, self.offsets, self.failed, self.ended = work, work.truths.map(&:offset), false, false
            self
          end
        end
        private_constant :LastCall

        def last_call(consumer)
          consumer.instance_variable_get(:@last_call) ||
            consumer.instance_variable_set(:@last_call, LastCall.new(nil, [], false, false))
        end

        # Some hooks mark the last message, also after a call that failed: its records must not count as marked.
        def mark_last(consumer, last, name)
          return if last.work.nil? || @plan.forgets || @plan.transactions || !(last.failed || last.ended)
          truth = last.work.truths.last
          return unless chance(truth.uid, name.size, :hook) % 3 == 0
          answer = consumer.mark_as_consumed(consumer.messages.last)
          @world.coverage.hit("last message marked in a hook") if answer
          return @checker.marked(last.work, truth, answer) unless last.failed
          @checker.fail("I2", "#{name} marked #{truth.inspect}, which had failed") if answer
        end

        # Some consumers keep a message of each call, long after it.
        def keep(consumer, message)
          kept(consumer)[message.offset % KEPT] = message
        end

        def kept(consumer) = consumer.instance_variable_get(:@kept) || consumer.instance_variable_set(:@kept, {})

        # Users' code never runs on a poll loop.
        # @return [Sleeper] that runs the code
        def on_worker
          sleeper = @world.running
          @checker.fail("I11", "users' code runs on a poll loop") if sleeper.nil? || sleeper.loop?
          sleeper
        end

        def filter_fails(truth)
          raise Failure, "filter, record #{truth.uid}" if (truth.filter_tries += 1) <= 2
        end

        # Three numbers in one: when to sleep, how long, and what to request.
        def chance(*parts) = Zlib.crc32(parts.join(":"), @salt)

        def wish_for_tick(consumer)
          lane = @world.lane_of(consumer)
          @checker.tick_wished(lane) if consumer.tick_in(@plan.tick_in)
        end

        def run(consumer, work, chance)
          duration = duration(chance)
          sleepy = (chance >> 8) % work.truths.size
          index = 0
          consumer.messages.each do |message|
            truth = @checker.record_begins(work, message)
            keep(consumer, message)
            work_on(work, duration) if index == sleepy && duration.positive?
            work.member&.strike if index == sleepy
            @world.killed(work) if truth.uid == @plan.killer
            fail_perhaps(work, truth)
            @checker.record_ran(work, truth)
            mark_perhaps(consumer, work, truth, message)
            index += 1
            break if leave_early?(consumer, chance)
          end
        end

        def work_on(work, duration)
          %i[job seek shuffle].each { |what| @world.faults.sprung(what, work.instance) } if duration > 50
          nap(duration)
        end

        def duration(chance)
          return chance % 3 if @world.healed?
          roll = chance % 100
          return 500 + (chance % 3_500) if roll < @plan.slow_percent
          return 0 if roll < (@plan.quick ? 92 : 50)
          (roll < 85) ? chance % 60 : 100 + (chance % 400)
        end

        def nap(duration_ms)
          sleeper = @world.running
          sleeper.sleep_until(@world.timeline.now + duration_ms)
        end

        # Some records fail a few times, some now and then.
        def fail_perhaps(work, truth)
          return fail_always(work, truth) if bad?(truth)
          return if @world.healed?
          truth.origin.tries += 1
          roll = chance(truth.origin.uid, :poison) % 100
          poisoned = roll < @plan.poison_percent && truth.tries <= 2 + (roll % 4)
          unlucky = chance(truth.uid, truth.tries) % 100 < @plan.fail_percent
          away = away?(truth)
          return unless poisoned || unlucky || away
          failing(work, truth, away ? away_error : Failure)
        end

        # An unavailable dependency fails first.
        def fail_always(work, truth)
          truth.origin.tries += 1
          failing(work, truth, away?(truth) ? away_error : Failure)
        end

        def failing(work, truth, error)
          truth.failures += 1
          @checker.record_fails(work, truth, error)
          @world.faults.sprung(:failure, work.instance)
          raise error, "record #{truth.uid}"
        end

        def away?(truth) = @world.outage? && chance(truth.origin.uid, :away) % 100 < @plan.outage_share
        def away_error = (@plan.outage_error == :refused) ? Errno::ECONNREFUSED : Down

        def mark_perhaps(consumer, work, truth, message)
          return if @plan.forgets
          last = message.offset == work.truths.last.offset
          return mark_later(consumer, work, truth, message) if last && @plan.late && chance(truth.uid, :late) % 3 == 0
          roll = chance(truth.uid, truth.tries, :mark) % 100
          return if roll >= @plan.mark_percent && !(@plan.manual && (last ? !gathers?(truth) : @world.healed?))
          wait = roll < @plan.mark_percent / 5 && !@world.healed?
          return @checker.marked(work, truth, consumer.mark_as_consumed(message)) unless wait
          @checker.marks(work, truth)
          @checker.waited(work, truth, consumer.mark_as_consumed!(message))
        end

        # By a thread of the user's, which nobody knows of.
        def mark_later(consumer, work, truth, message)
          work.instance.aside do |nap|
            nap.call(50 + (chance(truth.uid, :later) % 3_000))
            answer = consumer.mark_as_consumed(message)
            @world.coverage.hit("mark after its unit") if answer
            @checker.marked(work, truth, answer)
          end
        end

        # With manual offsets some units are left unmarked: a mark that follows covers them too.
        def gathers?(truth) = @plan.mode == :whole && !@world.healed? && chance(truth.uid, :gather) % 4 == 0

        # A loop of the user's that checks whether it should end: it marks what it did and asks for the rest again.
        def leave_early?(consumer, chance)
          return false unless (chance >> 4) % 3 == 0 && consumer.stopping?
          @plan.mark_percent.positive? && !@plan.manual
        end

        def wish(consumer, work, chance)
          return if @world.healed?
          roll = (chance >> 12) % 100
          return unless roll < @plan.seek_percent
          case roll % 4
          when 0 then seek(consumer, work, work.truths.first.offset + (chance % 12) - 6)
          when 1 then pause(consumer, work, chance % 1_500)
          when 2 then pause_at(consumer, work, work.truths[chance % work.truths.size], chance % 700)
          else consumer.commit_offsets
          end
        end

        def seek(consumer, work, target)
          target = @checker.seekable(work, target)
          @checker.seeks(work, target)
          consumer.seek(target)
        end

        # Records after this one run again after the pause.
        def pause_at(consumer, work, truth, timeout_ms)
          return if truth.waited_for
          truth.waited_for = true
          @checker.pauses(work, truth)
          consumer.pause(truth.offset, timeout_ms)
        end

        def pause(consumer, work, timeout_ms)
          @checker.pauses(work)
          consumer.pause(:consecutive, timeout_ms)
        end
      end
    end
  end
end
