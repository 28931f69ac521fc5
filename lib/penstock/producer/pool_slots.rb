# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"

module Penstock
  class ProducerPool
    # Keeps a pool's producers and who uses each. The one returned last is lent first, so that the others may become idle.
    #
    # Any thread. Producers are closed with no lock held.
    class Slots
      # One producer's place: its index, its user (a fiber, or nil), and whether it is to be replaced when it is returned
      # (true), or the thread that is replacing it.
      Slot = Struct.new(:index, :producer, :owner, :stale)

      LOOK_AGAIN_MS = 1_000

      # @param size [Integer]
      # @param report [#call] called with the error when a producer couldn't be created and no caller waits for it
      # @yieldparam index [Integer]
      # @yieldreturn [Producer]
      def initialize(size, report: ->(_error) {}, &make)
        @make = make
        @report = report
        @lock = Mutex.new
        @returned = ConditionVariable.new
        @waiting = 0
        @closed = false
        fill(size)
      end

      # @return [Slot, nil] the slot that the calling fiber uses
      def mine
        @all.find { |slot| slot.owner.equal?(Fiber.current) } if @pid == ::Process.pid
      end

      # @param deadline [Deadline]
      # @yieldparam slot [Slot] the same, where no error that another thread raises in this one can come in between: it would be
      #   lost otherwise
      # @return [Slot, nil] nil if the time limit was reached first
      # @raise [ProducerClosedError]
      def take(deadline, &taken)
        @lock.synchronize do
          adopt unless @pid == ::Process.pid
          await(deadline) { @closed || @free.any? }
          refuse if @closed
          Thread.handle_interrupt(Object => :never) { take_locked(&taken) }
        end
      end

      # The caller is done with the producer: an error while creating its replacement isn't raised to the caller.
      #
      # @param slot [Slot]
      # @return [void]
      def give_back(slot)
        renew_slot(slot)
      rescue => error
        @report.call(error)
      ensure
        Thread.handle_interrupt(Object => :never) { free_slot(slot) }
      end

      # @param deadline [Deadline]
      # @param force [Boolean] whether producers in use are also replaced at once
      # @return [void]
      # @raise [ProducerClosedError]
      # @raise the first error of producers that couldn't be created; their predecessors stay
      def renew(deadline, force: false)
        @lock.synchronize do
          refuse if @closed
          @all.each { |slot| slot.stale = true }
        end
        renew_free
        return renew_all(@all) if force

        @lock.synchronize { await(deadline) { @all.none? { |slot| slot.stale && !slot.owner.equal?(Fiber.current) } } }
      end

      # @param deadline [Deadline]
      # @return [Boolean] true if this call does the closing
      def close(deadline)
        first = @lock.synchronize { !@closed && (@closed = true) && @returned.broadcast && true }
        return false unless first

        @lock.synchronize { await(deadline) { @all.all? { |slot| slot.owner.nil? || slot.owner.equal?(Fiber.current) } } }
        @all.map { |slot| Thread.new { slot.producer.close(timeout_ms: [deadline.remaining_ms, 1_000].max) } }.each(&:join)
        true
      end

      # @return [Boolean]
      def closed?
        @closed
      end

      # @return [Integer]
      def free
        @free.size
      end

      # @return [Integer] threads that wait for a producer
      attr_reader :waiting

      # @return [Array<Producer>]
      def producers
        @all.map(&:producer)
      end

      private

      def fill(size)
        @all = (1..size).map { |index| Slot.new(index, @make.call(index), nil, false) }
        @free = @all.reverse
        @pid = ::Process.pid
      end

      # Must be called with the lock held, in a forked child: the existing producers belong to the parent.
      def adopt
        fill(@all.size)
      end

      # Must be called with the lock held.
      def take_locked(&taken)
        slot = @free.pop or return
        slot.owner = Fiber.current
        taken&.call(slot)
        slot
      end

      # Must be called with the lock held.
      def await(deadline)
        @waiting += 1
        @returned.wait(@lock, deadline.wait_ms(LOOK_AGAIN_MS) / 1_000.0) until yield || deadline.expired?
      ensure
        @waiting -= 1
      end

      def refuse
        raise ProducerClosedError, "the pool of producers is shut down: create a new one"
      end

      # Marks each free slot as used while its producer is replaced.
      def renew_free
        lent = @lock.synchronize { @free.each { |slot| slot.owner = self }.dup.tap { @free.clear } }
        renew_all(lent.dup) { free_slot(lent.shift) }
      ensure
        lent&.each { |slot| free_slot(slot) }
      end

      # Continues with the other slots after an error.
      #
      # @yield after each
      def renew_all(slots)
        errors = slots.filter_map do |slot|
          renew_slot(slot)
        rescue => error
          error
        ensure
          yield if block_given?
        end
        raise errors.first if errors.any?
      end

      # Repeats if another reload came in between: a producer created before that may have outdated settings.
      #
      # @return [nil]
      def renew_slot(slot)
        while claim(slot)
          begin
            replace(slot)
          rescue
            raise unless slot.stale == true
          ensure
            replaced(slot)
          end
        end
      end

      def claim(slot)
        @lock.synchronize { slot.stale == true && slot.stale = Thread.current }
      end

      # The new producer is created first, which doesn't connect: if that fails the old one stays in use. With `force`, two
      # threads may replace the same producer at the same time; only the one of the last reload is kept.
      def replace(slot)
        fresh = @make.call(slot.index)
        old = @lock.synchronize do
          next fresh unless slot.stale.equal?(Thread.current)

          slot.producer.tap { slot.producer = fresh }
        end
        old.close
      end

      def replaced(slot)
        @lock.synchronize do
          slot.stale = false if slot.stale.equal?(Thread.current)
          @returned.broadcast
        end
      end

      def free_slot(slot)
        @lock.synchronize do
          slot.owner = nil
          @free.push(slot) if @all.include?(slot)
          @returned.broadcast
        end
      end
    end
  end
end
