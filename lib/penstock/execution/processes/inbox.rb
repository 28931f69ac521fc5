# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Queues the units inside a child: one runs, some wait. The reading thread adds, interrupts and returns units; the other one
      # takes and runs them. All of it is under one lock, so that an interrupt can't reach a later unit than the one it is meant
      # for.
      class Inbox
        def initialize
          @lock = Mutex.new
          @filled = ConditionVariable.new
          @orders = []
          @running = nil
          @thread = nil
          @marks = nil
          @closed = @woken = false
        end

        # @param order [UnitCodec::Order]
        def <<(order)
          @lock.synchronize do
            @orders << order
            @filled.signal
          end
        end

        # Waits for a unit; it runs from now on, on the calling thread.
        # @return [UnitCodec::Order, false, nil] false after {#wake}, nil when no more will come
        def begin
          @lock.synchronize do
            @filled.wait(@lock) while @orders.empty? && !@closed && !@woken
            next @woken = false if @woken
            order = @orders.shift or next
            @running = order.id
            @thread = Thread.current
            order
          end
        end

        # Lets the thread that waits for a unit return without one. Any thread.
        def wake
          @lock.synchronize do
            @woken = true
            @filled.signal
          end
        end

        # The unit has ended; an error that was raised in its thread too late is dropped.
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

        # Removes the units that haven't begun.
        # @param unit [Integer, nil] only this one
        # @return [Array<Integer>]
        def recall(unit = nil)
          @lock.synchronize do
            back, @orders = @orders.partition { |order| unit.nil? || order.id == unit }
            back.map(&:id)
          end
        end

        # Sets the marks of the running unit.
        def set_marks(unit, marks) = @lock.synchronize { @marks = [unit, marks] }

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
