# frozen_string_literal: true

require "penstock/execution/processes/child"
require_relative "../fibers"

module Penstock
  module TestSupport
    module Sim
      module Pools
        # A process of a simulated pool: the real {Execution::Processes::Child}, whose two threads are fibers on the
        # timeline. It is independent of its parent: a parent that is frozen by the system doesn't freeze it. It dies by
        # chance according to the plan, by a record that kills, by its parent, or with it.
        class Member
          # The real one except for its threads, and the moments at which it may die.
          class Child < Execution::Processes::Child
            def initialize(member, child_context, line, file)
              super(child_context, line, file)
              @member = member
              @inbox = Inbox.new(member)
            end

            def start
              @member.thread { read }
              @member.thread do
                work_off
                finish
                exit!(0)
              end
            end

            private

            def run_unit(order)
              @fate = @member.fate
              @member.die(9) if @fate == :early
              super
              @member.die(9) if @fate == :unsent
              return unless @fate == :cut
              @member.line.cut!
              @channel.flush
            rescue Line::Cut
              @member.die(9)
            end

            def send_report(_order, context, *)
              @member.die(9) if @fate == :unreported
              @member.waver if %i[late lost].include?(@fate)
              @member.die(9) if @fate == :lost
              @member.ended(context)
              super
            end

            def lane(order) = super.tap { |lane| @member.began(order, lane) }
            def exit!(code) = @member.die(nil, code)
          end

          # The real one, whose waiting is on the timeline.
          class Inbox < Execution::Processes::Inbox
            FOR_EVER_MS = 1_000_000_000

            def initialize(member)
              super()
              @member = member
            end

            def <<(order)
              super
              wake_worker
            end

            def close
              super
              wake_worker
            end

            def begin
              @turn = @member.world.running
              @waits = true
              @turn.sleep_until(@member.world.timeline.now + FOR_EVER_MS) while @orders.empty? && !@closed && !@woken
              @waits = false
              super.tap { @thread = self }
            end

            def wake
              super
              wake_worker
            end

            def recall(...)
              super.tap { |ids| @member.world.coverage.hit("pool: called back") if ids.any? }
            end

            def ended
              super
              @turn.forget_late
            end

            # Replaces its thread.
            def raise(error)
              unit = @running
              @member.world.timeline.after(@member.world.quickly) do
                @member.run_when_awake { @turn.raise_in(error) if @running == unit }
              end
            end

            private

            def wake_worker = (@turn.wake_at(@member.world.timeline.now) if @waits)
          end

          # A thread of it. An exception raised in it takes effect in users' code only, and there only where that can be
          # interrupted.
          class Turn < Sleeper
            def initialize(member, &)
              super
              @member = member
              @open = false
              @late = nil
            end

            # @return [Instance] the process of the pool
            def instance = @member.instance

            # @return [Member]
            attr_reader :member

            def users
              @open = true
              raise_late
              yield
            ensure
              @open = false
            end

            # Users' code computes in C.
            def deaf
              @open = false
              yield
            ensure
              @open = true
              raise_late
            end

            def raise_in(error) = (@open && asleep?) ? super : @late = error
            def forget_late = @late = nil

            private

            def raise_late
              late, @late = @late, nil
              raise late if late
            end
          end

          # Consumers that somebody may still use outside of their unit.
          KEPT = 3
          private_constant :KEPT

          # @return [Array<BaseConsumer>]
          attr_reader :consumers
          attr_reader :pid, :world, :instance, :line, :file
          # @return [Array(Integer, Integer), nil] signal and exit code
          attr_reader :status
          # @return [Execution::Processes::ChildDriver]
          attr_accessor :driver

          # @param instance [Instance] to whose pool it belongs
          # @param line [Line] its end
          # @param child_context [Execution::Processes::ChildContext]
          def initialize(instance, pid, line, child_context)
            @instance = instance
            @world = instance.world
            @pid = pid
            @line = line
            @file = Memory.new
            @fate = nil
            @consumers = []
            @child = Child.new(self, child_context, line, @file)
            @child.start
          end

          def dead? = !@status.nil?

          # @yield what happens inside it, unless it is dead
          def run_when_awake = (yield unless dead?)

          def thread(&) = Turn.new(self, &).begin_after(@world.quickly)

          # Draws the fate of its next unit.
          def fate = @fate = @world.pool_fate

          # Users' code runs: perhaps it ends the process, or can't be reached for a while.
          def strike
            return if @world.healed?
            fate, @fate = @fate, nil
            case fate
            when :killed then die(11)
            when :hung then @world.running.deaf { doze(1_000..8_000) }
            end
          end

          # It has begun a unit of its parent's.
          def began(order, lane) = @world.origins[lane] = @driver.in_flight[order.id].lane

          # It is about to report a unit's outcome.
          def ended(context)
            @consumers = [*@consumers.last(KEPT), context.consumer]
            marked = context.marks.through >= 0 && !@world.origins.fetch(context.lane).marks.owned?
            @world.coverage.hit("pool: reply with marks + revoke") if marked
          end

          # Its answer takes time, in which the group may change.
          def waver
            @world.faults.sprung(:reply, @instance)
            doze
          end

          def doze(between_ms = 100..1_500)
            @world.running.sleep_until(@world.timeline.now + @world.random.rand(between_ms))
          end

          # @param signal [Integer, nil]
          # @param code [Integer, nil]
          def die(signal, code = nil)
            return if dead?
            @status = [signal, code]
            @world.checker.member_died(self)
            vanish
            Fiber.yield if @world.running.is_a?(Turn) && @world.running.member.equal?(self) # never resumes
          end

          # Ends it with its parent.
          def vanish
            @status ||= [9, nil]
            @line.close
          end

          def inspect = "#<Member #{@pid}>"
        end
      end
    end
  end
end
