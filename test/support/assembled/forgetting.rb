# frozen_string_literal: true

module Penstock
  module TestSupport
    class Assembled
      # Half of the combinations with manual offsets have a consumer that gathers records over several calls and marks
      # them when it has written them. An error makes it lose what it held: everything, or only what it was about to
      # write. No mark may pass a record that nobody has written. Part of {Assembled}.
      module Forgetting
        Instance = Struct.new(:number, :failures)
        INSTANCES = 3
        WRITTEN_AT_ONCE = 3
        private_constant :Instance, :INSTANCES, :WRITTEN_AT_ONCE

        private

        def forgets? = @forgets ||= (@names[:manual] && @random.rand < 0.5) ? [:all, :some][pick(2)] : :none
        def gathers? = forgets? != :none

        # Takes a consumer for a unit, as a worker does.
        def take_instance(unit)
          @instances ||= Array.new(INSTANCES) { |number| Instance.new(number, 0) }
          free = @instances.reject { |one| @busy.any? { |_slot, other| one.equal?(other.instance) } }
          unit.add_holder(free[pick(free.size)])
        end

        def held(unit) = (@held ||= Hash.new { |all, number| all[number] = [] })[unit.instance&.number]

        # @raise [IOError]
        def gather(unit)
          held = held(unit)
          held.concat(unit.messages.map { |message| [unit, message] })
          write_down(held) while held.size >= (@healed ? 1 : WRITTEN_AT_ONCE)
        end

        def write_down(held)
          rows = held.shift(WRITTEN_AT_ONCE)
          raise IOError, "not written" if chance(0.15)
          rows.each { |_unit, message| @written[message.offset] = true }
          ((@names[:parallel] == :none) ? rows.last(1) : rows).each { |unit, message| mark(unit, message) }
        end

        def forget(unit)
          unit.instance.failures += 1 if unit.instance
          held(unit).clear if forgets? == :all
        end

        def mark(unit, message)
          return unless (message.mark_cell || unit.lane.marks).mark(message.offset)
          return unless current?(unit)
          marked = (@names[:parallel] == :none) ? @rows.map(&:offset) : unit.messages.offsets
          written_down(message, marked) if gathers?
          marked.each { |offset| @allowed[offset] = true if offset <= message.offset }
        end

        # @param offsets [Array<Integer>] that a mark of the message is about to complete
        def written_down(message, offsets)
          lost = offsets.find do |offset|
            offset.between?(@begins, message.offset) && !@lane.ledger.complete?(offset) && !@written[offset] &&
              !@allowed[offset] && !@listener.buried[offset] && !dropped?(@rows.find { |row| row.offset == offset })
          end
          broken("a mark of #{message.offset} passes #{lost}, which its consumer has forgotten") if lost
        end

        # Nothing fails any more: what is held is written.
        def write_all
          return if @names[:parallel] == :none && !places.empty?
          @held&.each_value { |held| write_down(held) until held.empty? }
          @lane.take_marks
        end
      end
    end
  end
end
