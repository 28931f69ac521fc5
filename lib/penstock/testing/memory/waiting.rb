# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../consumer/answer"
require_relative "../../on_demand"
require_relative "../../runtime/loop/mailbox"
Penstock.load_constant :Producer

module Penstock
  module Testing
    module Memory
      # Makes code wait in virtual time. A thread that runs a {World} gets the world's time, and its waits are sleeps on the
      # timeline; all other threads wait as usual.
      module Waiting
        # A worker that waits for a commit, or whose transaction waits for its lane's offset.
        module Answers
          def wait(timeout_s)
            world = World.current
            sleeper = world&.running or return super
            @sleeper = sleeper
            ends = world.timeline.now + (timeout_s * 1_000).round
            sleeper.sleep_until(ends) while @value.nil? && world.timeline.now < ends
            @value
          end

          def give(value)
            super
            @sleeper&.wake_at(@sleeper.instance.world.timeline.now)
          end
        end
        Consumer::Answer.prepend(Answers)

        # A poll loop without a connection waits for its mail.
        module Mail
          attr_writer :sleeper

          def post(message)
            super
            @sleeper.wake_at(@sleeper.instance.world.timeline.now) if @expecting
          end

          def wake_up
            super
            @sleeper.wake_at(@sleeper.instance.world.timeline.now) if @expecting
          end

          def wait(timeout_ms)
            return super unless @sleeper
            if @messages.empty?
              @expecting = true
              @sleeper.sleep_until(@sleeper.instance.world.timeline.now + timeout_ms)
              @expecting = false
            end
            shift
          end
        end
        Runtime::Mailbox.prepend(Mail)

        # A transaction that waits for another one.
        module Locks
          LOOK_MS = 5
          private_constant :LOOK_MS

          private

          def take
            world = World.current
            sleeper = world&.running
            sleeper.sleep_until(world.timeline.now + LOOK_MS) while sleeper && @mutex.synchronize { taken? }
            super
          end
        end
        Producer::TransactionLock.prepend(Locks)

        # Letters in transactions of their own are sent alongside the loop.
        module Senders
          private

          def start
            process = World.current&.running&.instance or return super
            @waiting.shift(@waiting.size - 1) if crashed? # of the last process; the last one is new
            @thread = process.aside { run }
            @running = true
          end

          def crashed? = @thread.is_a?(Sleeper) && @thread.instance.dead?
        end
        Producer::TransactionalSender.prepend(Senders)

        # Code that was given no clock and asks the machine's gets the world's.
        module Time
          %i[monotonic_ms monotonic_us wall_ms].each do |name|
            define_method(name) { (instance_of?(Penstock::Clock) && World.current&.clock&.public_send(name)) || super() }
          end
        end
        Penstock::Clock.prepend(Time)
      end
    end
  end
end
