# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # The order in which the fresh records of a topic count in one process, as far as it can be known from outside. Penstock
        # numbers the records of a unit when it begins. One that fails after others of its unit counts where the poll loop
        # reads how the unit ended: after the failure, and at the latest when the loop has waited twice since then. All that
        # begins in between may count before it.
        class FreshOrder
          # Waits of a process's loops, until each has read all that ended before them.
          READ_AFTER = 2
          private_constant :READ_AFTER

          attr_reader :failed

          def initialize
            @begun = {}
            @failed = Hash.new(0)
            @unread = {}
            @read_behind = {}
          end

          def size = @begun.size
          def begun?(uid) = @begun.key?(uid)

          # After a seek it runs again.
          def begins(uid)
            @begun.delete(uid)
            @begun[uid] = true
          end

          # @param late [Boolean] after others of its unit
          def fails(uid, late:)
            begins(uid) if late || !begun?(uid)
            # Twice for one record: first its unit's transaction failed, for which Penstock blames the unit's first record, and
            # then the record did.
            @failed[uid] += 1
            @unread[uid] = [] if late
          end

          # A poll loop of the process is about to wait.
          def waits(connection)
            return if @unread.empty?
            read = @unread.select { |_uid, waits| waits.push(connection).count(connection) >= READ_AFTER }
            read.each_key { |uid| @read_behind[uid] = @begun.keys.last }
            read.each_key { |uid| @unread.delete(uid) }
          end

          # @return [Boolean] whether at least `count` failures may be among that number of consecutive records
          def failed_within?(records, count)
            position = @begun.keys.each_with_index.to_h
            spans = @failed.filter_map { |uid, times| [position[uid], latest(uid, position), times] if position[uid] }
            spans.any? do |first, _latest, _times|
              first_of_window = [first - records + 1, 0].max
              (first_of_window..first).any? { |from| failures(spans, from, from + records - 1) >= count }
            end
          end

          private

          def latest(uid, position)
            return position.size - 1 if @unread.key?(uid)
            [position[@read_behind[uid]] || 0, position[uid]].max
          end

          def failures(spans, from, upto)
            spans.sum { |first, latest, times| (first <= upto && latest >= from) ? times : 0 }
          end
        end
      end
    end
  end
end
