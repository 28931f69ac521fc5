# frozen_string_literal: true

require "penstock/delays/consumer"
require "penstock/delays/delayed_message"
require "penstock/routing/delay_tiers"
require_relative "letters"

module Penstock
  module TestSupport
    module Sim
      # Delayed messages: the real consumer of delay topics, on a simulated producer.
      module Hopping
        # Where all of them are to arrive.
        TARGET = "target"

        # The real consumer, observed.
        class Consumer < Delays::Consumer
          def consume = World.current.script.hop(self) { super }
          def mark_as_consumed(message, *) = World.current.script.hop_marks(self, message) { super }
        end

        # The producer of a simulated process, as far as hops need one. A message's arrival and its acknowledgement are
        # separate moments; either may fail, come late, or never.
        class Producer < Letters
          FATES = %i[late late failed unanswered never].freeze
          # A message in that many is refused by its target, that many times.
          REFUSED_EVERY = 9
          REFUSALS = 4
          WAIT_MS = 2_000
          LOOK_MS = 5
          private_constant :FATES, :LOOK_MS, :REFUSALS, :REFUSED_EVERY, :WAIT_MS

          def with(**) = self
          def missing?(_topic) = false

          def produce_many_sync(messages)
            handles = messages.map { |message| offer(message) }
            deadline = @world.timeline.now + WAIT_MS
            nap until handles.all?(&:done?) || @world.timeline.now >= deadline
            failed = handles.find { |handle| !handle.done? || handle.create_result.error }
            raise ProduceManyError.new("simulated", dispatched: handles) if failed
            handles
          end

          def produce_sync(message)
            produce_many_sync([message]).first
          rescue ProduceManyError => error
            code = error.dispatched.first.create_result&.error&.code
            raise ProduceError.new("simulated", code: code)
          end

          private

          def nap = @world.running.sleep_until(@world.timeline.now + LOOK_MS)

          def offer(message)
            truth = @world.checker.hop_offered(@instance, message)
            fate = @world.letter_fate(FATES)
            fate = :refused if message[:topic] == TARGET && refused?(truth)
            @world.faults.sprung(:letter, @instance) if fate
            Handle.new.tap { |handle| send_off(handle, truth, message, fate) }
          end

          def refused?(truth)
            @world.plan.letter_trouble.positive? && !@world.healed? && truth.origin.uid % REFUSED_EVERY == 3 &&
              truth.record.headers["penstock_delay_failures"].to_i < REFUSALS
          end

          def send_off(handle, truth, message, fate)
            way_ms = @world.cluster.latency
            case fate
            when :late then after(@world.random.rand(LATE_MS)) { reach(handle, truth, message) }
            when :failed then fail_after(handle, way_ms, :msg_timed_out)
            when :refused then fail_after(handle, way_ms, :unknown_topic_or_part)
            when :never then fail_after(handle, GIVEN_UP_MS.fetch(fate), :msg_timed_out)
            when :unanswered
              @world.timeline.after(way_ms) { @world.hopped(message, truth) }
              fail_after(handle, GIVEN_UP_MS.fetch(fate), :timed_out)
            else @world.timeline.after(way_ms) { reach(handle, truth, message) }
            end
          end

          # The process may die before it has the answer, or before it has marked the record.
          def reach(handle, truth, message)
            @world.hopped(message, truth)
            @world.faults.sprung(:hop, @instance)
            after(@world.cluster.latency) { handle.resolve(nil) }
          end
        end

        # Runs inside `consume`.
        def hop(consumer)
          on_worker.users do
            work = @checker.unit_begins(@world.running, consumer)
            hops[consumer] = work
            consumer.messages.each { |message| @checker.hop_begins(work, message) }
            yield
            @checker.unit_ended(work)
          rescue Exception => error # rubocop:disable Lint/RescueException -- told to the checker and raised again
            @checker.unit_failed(work, error) if work
            raise
          ensure
            hops.delete(consumer)
          end
        end

        # Runs when the consumer declares records complete.
        def hop_marks(consumer, message)
          work = hops.fetch(consumer)
          truth = @checker.truth_of(message)
          @checker.hop_complete(work, truth)
          yield.tap { |answer| @checker.marked(work, truth, answer) }
        end

        private

        def hops = @hops ||= {}.compare_by_identity
      end
    end
  end
end
