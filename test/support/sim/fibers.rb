# frozen_string_literal: true

require "penstock/runtime/loop/mailbox"

module Penstock
  module TestSupport
    module Sim
      # A fiber that sleeps on the timeline where a thread would sleep: a poll loop, or a worker with its unit. It can
      # be woken early; after its process has died it never resumes.
      class Sleeper
        # @return [Instance] the process
        attr_reader :instance

        # @return [Connection, nil] whose poll loop it is
        attr_reader :connection

        # @param instance [Instance]
        # @param connection [Connection, nil]
        def initialize(instance, connection = nil, &body)
          @instance = instance
          @connection = connection
          @timeline = instance.world.timeline
          @fiber = Fiber.new(&body)
          @due = nil
          @key = nil
          @born = false
          @resume = -> { @fiber.resume }
          @awake = -> { go(&@resume) }
          @due_now = lambda do
            @key = nil
            @instance.run_when_awake(&@awake)
          end
        end

        def begin_after(delay_ms) = due_at(@timeline.now + delay_ms)

        # Not before others, but at this time.
        def begin_now = @instance.run_when_awake(&@awake)

        # Called by the fiber itself.
        def sleep_until(time)
          due_at(time)
          Fiber.yield
        end

        # Called by others: it resumes at that time unless it would resume earlier.
        def wake_at(time)
          due_at(time) if @key && time < @due
        end

        # Whether it is a poll loop.
        def loop? = !@connection.nil?

        # Whether it sleeps in the middle of something.
        def asleep? = !@key.nil? && @born
        def ended? = !@fiber.alive?

        # An exception from outside, like Thread#raise.
        def raise_in(error)
          @timeline.cancel(@key) if @key
          @key = nil
          go { @fiber.raise(error) }
        end

        # Users' code runs in the block.
        def users = yield

        # @return [Pools::Member, nil] the process of a pool in which it runs
        def member = nil

        def inspect = "#<Sleeper>"

        private

        def due_at(time)
          @timeline.cancel(@key) if @key
          @due = time
          @key = @timeline.at(time, &@due_now)
        end

        def go
          before, @instance.world.running = @instance.world.running, self
          @born = true
          yield
        ensure
          @instance.world.running = before
        end
      end

      # A worker that waits for a commit, or whose transaction waits for its lane's offset, sleeps on the timeline.
      module AnswerWaiting
        def wait(timeout_s)
          sleeper = World.current&.running or return super
          @sleeper = sleeper
          ends = World.current.timeline.now + (timeout_s * 1_000).round
          sleeper.sleep_until(ends) while @value.nil? && World.current.timeline.now < ends
          @value
        end

        def give(value)
          super
          @sleeper&.wake_at(World.current.timeline.now)
        end
      end
      Consumer::Answer.prepend(AnswerWaiting)

      # A poll loop without a connection waits for its mail on the timeline.
      module MailWaiting
        attr_writer :sleeper

        def post(message)
          super
          @sleeper.wake_at(World.current.timeline.now) if @expecting
        end

        def wake_up
          super
          @sleeper.wake_at(World.current.timeline.now) if @expecting
        end

        def wait(timeout_ms)
          return super unless @sleeper
          if @messages.empty?
            @expecting = true
            @sleeper.sleep_until(World.current.timeline.now + timeout_ms)
            @expecting = false
          end
          shift
        end
      end
      Runtime::Mailbox.prepend(MailWaiting)
    end
  end
end
