# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # The units inside a child: one runs, some wait. The reading thread puts in, interrupts and calls back; the other takes and
      # runs. One lock; an interrupt can't come after the unit it is meant for.
      class Inbox
        def initialize
          @lock = Mutex.new
          @filled = ConditionVariable.new
          @orders = []
          @running = nil
          @thread = nil
          @marks = nil
          @closed = false
        end

        # @param order [UnitCodec::Order]
        def <<(order)
          @lock.synchronize do
            @orders << order
            @filled.signal
          end
        end

        # Waits for a unit; it runs from now on, on the calling thread.
        # @return [UnitCodec::Order, nil] nil when there will be none
        def begin
          @lock.synchronize do
            @filled.wait(@lock) while @orders.empty? && !@closed
            order = @orders.shift or next
            @running = order.id
            @thread = Thread.current
            order
          end
        end

        # The unit has ended; what was raised at its thread too late is dropped.
        def ended
          @lock.synchronize { @running = @marks = nil }
          Thread.handle_interrupt(Exception => :immediate) { Thread.pass } if Thread.pending_interrupt?
        rescue Exception # rubocop:disable Lint/RescueException -- meant for user code that has already ended
          nil
        end

        # @return [Boolean] whether the unit runs: then the error is raised in it
        # @yieldreturn [Exception]
        def interrupt(unit)
          @lock.synchronize do
            next false unless @running == unit
            @thread.raise(yield)
            true
          end
        end

        # What hasn't begun goes back.
        # @param unit [Integer, nil] only this one
        # @return [Array<Integer>]
        def recall(unit = nil)
          @lock.synchronize do
            back, @orders = @orders.partition { |order| unit.nil? || order.id == unit }
            back.map(&:id)
          end
        end

        # The marks of the unit that runs.
        def tell(unit, marks) = @lock.synchronize { @marks = [unit, marks] }

        # @return [Consumer::Marks, nil] nil when the unit doesn't run
        def marks(unit)
          @lock.synchronize { @marks&.last if @marks&.first == unit }
        end

        def empty? = @orders.empty?
        def closed? = @closed

        # No more units will come.
        def close
          @lock.synchronize do
            @closed = true
            @filled.broadcast
          end
        end
      end
    end
  end
end
