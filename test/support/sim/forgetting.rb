# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      # Users' code that gathers records over several calls, marks them once it has written that many, and loses what it
      # held on an error of any call: everything, or only what it was about to write. Part of {Script}.
      module Forgetting
        # A held record: the unit it came with, its truth, its message.
        Row = Struct.new(:work, :truth, :message)
        private_constant :Row

        private

        def gather(consumer, work)
          held = held(consumer)
          consumer.messages.to_a.zip(work.truths) do |message, truth|
            truth.holder = consumer
            held << Row.new(work, truth, message)
          end
          write(consumer, held.shift(at_once(consumer)), work) while held.size >= at_once(consumer)
        end

        # Writes the rest, when the partition is revoked, or now and then.
        def write_rest(consumer)
          write(consumer, held(consumer).shift(held(consumer).size)) unless held(consumer).empty?
        end

        def held(consumer) = consumer.instance_variable_get(:@held) || consumer.instance_variable_set(:@held, [])
        def at_once(consumer) = @world.healed? ? 1 : 2 + (chance(consumer.partition, :gather) % 10)

        def write(consumer, rows, work = nil)
          nap(chance(rows.first.truth.uid, :write) % 40) unless @world.healed?
          write_fails(rows, work)
          @checker.wrote(rows.map(&:truth))
          ((@plan.mode == :whole) ? rows.last(1) : rows).each do |row|
            @checker.marked(row.work, row.truth, consumer.mark_as_consumed(row.message))
          end
        end

        # An error after the last record of a call is that record's.
        def write_fails(rows, work)
          return if @world.healed?
          truth = rows.first.truth
          return if chance(truth.uid, truth.writes += 1, :write) % 100 >= 12
          work.truths.last.failures += 1 if work
          @world.coverage.hit("gathered records lost")
          raise Script::Failure, "records #{rows.map { |row| row.truth.uid }} can't be written"
        end

        # A call has failed.
        def forget(consumer)
          @checker.forgotten(held(consumer).map(&:truth).select { |truth| truth.holder.equal?(consumer) }, consumer)
          held(consumer).clear if @plan.forgets == "all"
        end
      end
    end
  end
end
