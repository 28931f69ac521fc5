# frozen_string_literal: true

module Penstock
  module Outbox
    # Which rows of a turn may be sent, and in what order: chains, one a strand, whose rows go out one after another. Pure.
    class Plan
      # `ids` are to be sent, in this order; `followers`, of the same strand, are held should the first of them not be delivered.
      # `parked` says whether that first one is a parked row that is due.
      Chain = Struct.new(:ids, :followers, :parked)

      # @return [Array<Chain>]
      attr_reader :chains
      # @return [Hash{Integer => Array<Integer>}] parked row => rows that have to wait behind it
      attr_reader :blocked

      class << self
        # As many slots as a turn may hold bytes: half of them for parked rows, so that those can't take them all, and at least
        # one of either kind.
        #
        # @param slots [Array<Store::Slot>] by id
        # @return [Array<Store::Slot>] the first of them, so that no row is left out before one of its strand
        def fit(slots, limit_bytes)
          due, ready = slots.partition { |slot| slot.state == "parked" }
          due = first(due, limit_bytes / 2)
          (due + first(ready, limit_bytes - due.sum(&:bytes))).sort_by(&:id)
        end

        private

        # What waits behind a parked row isn't sent.
        def first(slots, limit_bytes)
          bytes = 0
          slots.take_while do |slot|
            before = bytes
            bytes += slot.bytes unless slot.blocker && slot.state == "ready"
            before.zero? || bytes <= limit_bytes
          end
        end
      end

      # @param slots [Array<Store::Slot>] by id
      def initialize(slots)
        @blocked = Hash.new { |hash, blocker| hash[blocker] = [] }
        @chains = slots.group_by { |slot| slot.strand || slot }.values.filter_map { |group| chain(group) }
      end

      # @return [Array<Integer>] all that are to be sent
      def ids = chains.flat_map(&:ids)

      def empty? = chains.empty? && blocked.empty?

      private

      # A parked row goes alone: rows that are held behind it come before those that are only now at hand.
      def chain(group)
        due = group.find { |slot| slot.state == "parked" }
        return Chain.new([due.id], group.map(&:id) - [due.id], true) if due

        blocker = group.filter_map(&:blocker).max
        return Chain.new(group.map(&:id), [], false) unless blocker

        @blocked[blocker].concat(group.map(&:id))
        nil
      end
    end
  end
end
