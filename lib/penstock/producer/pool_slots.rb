# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"

module Penstock
  class ProducerPool
    # The producers of a pool and who has which. The one given back last is lent first, so that the others may come to rest.
    #
    # Any thread. Producers are closed with no lock held.
    class Slots
      # One producer's place: its index, who has it (a fiber, or nil), and whether it is to be replaced when that one is done.
      Slot = Struct.new(:index, :producer, :owner, :stale)

      LOOK_AGAIN_MS = 1_000

      # @param size [Integer]
      # @yieldparam index [Integer]
      # @yieldreturn [Producer]
      def initialize(size, &make)
        @make = make
        @lock = Mutex.new
        @returned = ConditionVariable.new
        @waiting = 0
        @closed = false
        fill(size)
      end

      # @return [Slot, nil] that of the calling fiber
      def mine
        @all.find { |slot| slot.owner.equal?(Fiber.current) } if @pid == ::Process.pid
      end

      # @param deadline [Deadline]
      # @return [Slot, nil] nil when the time was over first
      # @raise [ProducerClosedError]
      def take(deadline)
        @lock.synchronize do
          adopt unless @pid == ::Process.pid
          await(deadline) { @closed || @free.any? }
          refuse if @closed
          @free.pop&.tap { |slot| slot.owner = Fiber.current }
        end
      end

      # @param slot [Slot]
      # @return [void]
      def give_back(slot)
        renew_slot(slot) if slot.stale
        @lock.synchronize do
          slot.owner = nil
          @free.push(slot) if @all.include?(slot)
          @returned.broadcast
        end
      end

      # @param deadline [Deadline]
      # @param force [Boolean] whether also those that somebody has are replaced at once
      # @return [void]
      # @raise [ProducerClosedError]
      def renew(deadline, force: false)
        @lock.synchronize do
          refuse if @closed
          @all.each { |slot| slot.stale = true }
        end
        each_free { |slot| renew_slot(slot) }
        return @all.each { |slot| renew_slot(slot) if slot.stale } if force

        @lock.synchronize { await(deadline) { @all.none? { |slot| slot.stale && !slot.owner.equal?(Fiber.current) } } }
      end

      # @param deadline [Deadline]
      # @return [Boolean] whether this call is the one that closes
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

      # @return [Integer] threads that wait for one
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

      # Must be called with the lock held, in a forked child: the parent's producers are the parent's.
      def adopt
        fill(@all.size)
      end

      # Must be called with the lock held.
      def await(deadline)
        @waiting += 1
        @returned.wait(@lock, deadline.wait_ms(LOOK_AGAIN_MS) / 1_000.0) until yield || deadline.expired?
      ensure
        @waiting -= 1
      end

      def refuse
        raise ProducerClosedError, "the pool of producers is shut down: make a new one"
      end

      # Lends each free slot to itself for the block.
      def each_free
        slots = @lock.synchronize { @free.each { |slot| slot.owner = self }.dup.tap { @free.clear } }
        slots.each do |slot|
          yield slot
        ensure
          give_back(slot)
        end
      end

      def renew_slot(slot)
        slot.producer.close
        slot.producer = @make.call(slot.index)
        slot.stale = false
      end
    end
  end
end
