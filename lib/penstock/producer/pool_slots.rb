# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"

module Penstock
  class ProducerPool
    # The producers of a pool and who has which. The one given back last is lent first, so that the others may come to rest.
    #
    # Any thread. Producers are closed with no lock held.
    class Slots
      # One producer's place: its index, who has it (a fiber, or nil), and whether it is to be replaced when that one is done
      # (true), or by which thread it is being replaced.
      Slot = Struct.new(:index, :producer, :owner, :stale)

      LOOK_AGAIN_MS = 1_000

      # @param size [Integer]
      # @param tell [#call] is given the error of a producer that couldn't be made while nobody waits for it
      # @yieldparam index [Integer]
      # @yieldreturn [Producer]
      def initialize(size, tell: ->(_error) {}, &make)
        @make = make
        @tell = tell
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

      # Who gives it back has done what he wanted: that its next producer can't be made isn't his error.
      #
      # @param slot [Slot]
      # @return [void]
      def give_back(slot)
        renew_slot(slot)
      rescue => error
        @tell.call(error)
      ensure
        free_slot(slot)
      end

      # @param deadline [Deadline]
      # @param force [Boolean] whether also those that somebody has are replaced at once
      # @return [void]
      # @raise [ProducerClosedError]
      # @raise the first error of those that couldn't be made; they are as they were
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

      # Lends each free slot to itself meanwhile.
      def renew_free
        lent = @lock.synchronize { @free.each { |slot| slot.owner = self }.dup.tap { @free.clear } }
        renew_all(lent.dup) { free_slot(lent.shift) }
      ensure
        lent&.each { |slot| free_slot(slot) }
      end

      # All of them, whatever becomes of one.
      #
      # @yield behind each
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

      # Until no other reload has come in between: what was made by then may have the settings of before.
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

      # The new one is made first, which connects to nothing: where that can't be done the old one stays in use. Two may come to
      # it at a time where it is taken away by force, and then only the last reload's is kept.
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
