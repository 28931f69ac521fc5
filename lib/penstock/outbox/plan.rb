# frozen_string_literal: true

module Penstock
  module Outbox
    # Decides which rows of a turn may be sent, and in what order: in chains, one per strand, whose rows are sent one after
    # another. It knows sizes and states of rows, not their contents or ages: {Dispatch} reads those. Rows that are to stay
    # unsent are left out by {Store#head}, or each turn would read them again. Pure.
    class Plan
      # `ids` are to be sent, in this order; `followers`, of the same strand, are held if the first of `ids` isn't delivered.
      # `parked` is whether that first row is a parked row that is due.
      Chain = Struct.new(:ids, :followers, :parked)

      # @return [Array<Chain>]
      attr_reader :chains
      # @return [Hash{Integer => Array<Integer>}] parked row => rows that have to wait for it
      attr_reader :blocked

      class << self
        # Takes as many slots as the byte limit of a turn allows: at most half of it for parked rows, so that they can't use
        # all of it, and at least one slot of either kind.
        #
        # @param slots [Array<Store::Slot>] by id
        # @return [Array<Store::Slot>] a prefix of each kind, so that no row is left out while a later row of its strand is
        #   sent
        def fit(slots, limit_bytes)
          due, ready = slots.partition { |slot| slot.state == "parked" }
          due = first(due, limit_bytes / 2)
          (due + first(ready, limit_bytes - due.sum(&:bytes))).sort_by(&:id)
        end

        private

        # Rows that wait for a parked row aren't sent, so their bytes don't count.
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

      # @return [Array<Integer>] all rows to be sent
      def ids = chains.flat_map(&:ids)

      def empty? = chains.empty? && blocked.empty?

      private

      # A parked row is sent alone: rows that are already held for it come before those that this turn has read.
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
