# frozen_string_literal: true

require "penstock/errors"

module Penstock
  module TestSupport
    module Sim
      # The producer of a simulated process, as far as dead letters need one. A message's arrival and its
      # acknowledgement are separate moments on the timeline; depending on the plan either may be late, fail, or come
      # after all deadlines.
      class Letters
        # The part of a delivery report that the loop reads.
        class Handle
          Result = Struct.new(:error)

          def done? = !@result.nil?
          def create_result = @result
          def resolve(error) = @result ||= Result.new(error)
        end

        FATES = %i[late late late failed unanswered never refused].freeze
        LATE_MS = (300..3_000)
        GIVEN_UP_MS = {unanswered: 2_000, never: 20_000}.freeze
        private_constant :FATES, :GIVEN_UP_MS, :LATE_MS

        # @return [Integer] its queue is full until then
        attr_writer :full_until

        # @param instance [Instance]
        def initialize(instance)
          @instance = instance
          @world = instance.world
          @full_until = 0
        end

        def ready(message) = message

        # @return [Handle, nil] nil: the queue is full
        def dispatch(message)
          truth = @world.checker.letter_offered(@instance, message)
          return full if @world.timeline.now < @full_until
          fate = @world.letter_fate(FATES)
          raise error(:msg_size_too_large) if fate == :refused
          Handle.new.tap { |handle| travel(handle, truth, message, fate) }
        end

        def inspect = "#<Letters>"

        private

        def full
          @world.coverage.hit("dead letter: queue full")
          nil
        end

        def travel(handle, truth, message, fate)
          @world.faults.sprung(:letter, @instance) if fate
          return travel_on(handle, truth, message, fate) if Application.retry_topic?(message[:topic])
          case fate
          when :late then acknowledge(handle, truth, @world.random.rand(LATE_MS))
          when :failed then fail_after(handle, @world.cluster.latency, :msg_timed_out)
          when :unanswered, :never then fail_after(handle, GIVEN_UP_MS.fetch(fate), :timed_out)
          else acknowledge(handle, truth, @world.cluster.latency)
          end
        end

        # For a topic that is consumed. A late message waits in the process, and is lost with it; an unanswered one has
        # arrived.
        def travel_on(handle, truth, message, fate)
          way_ms = @world.cluster.latency
          case fate
          when :late then after(@world.random.rand(LATE_MS)) { arrive(handle, truth, message) }
          when :failed then fail_after(handle, way_ms, :msg_timed_out)
          when :never then fail_after(handle, GIVEN_UP_MS.fetch(fate), :timed_out)
          when :unanswered
            @world.timeline.after(way_ms) { @world.moved_on(message, truth) }
            fail_after(handle, GIVEN_UP_MS.fetch(fate), :timed_out)
          else @world.timeline.after(way_ms) { arrive(handle, truth, message) }
          end
        end

        def arrive(handle, truth, message)
          @world.moved_on(message, truth)
          acknowledge(handle, truth, @world.cluster.latency)
        end

        def acknowledge(handle, truth, delay_ms)
          after(delay_ms) do
            @world.checker.letter_acknowledged(truth)
            handle.resolve(nil)
          end
        end

        def fail_after(handle, delay_ms, code)
          @world.coverage.hit("dead letter: failed")
          after(delay_ms) { handle.resolve(error(code)) }
        end

        def after(delay_ms, &) = @world.timeline.after(delay_ms) { @instance.run_when_awake(&) }

        def error(code) = KafkaError.build(number: 0, name: code.to_s, message: "simulated")
      end
    end
  end
end
