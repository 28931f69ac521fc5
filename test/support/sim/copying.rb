# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      # Users' code that copies each record in a transaction: one per record, or one per call. Some abort. Part of
      # {Script}.
      module Copying
        private

        def copy(consumer, work, chance)
          pool = work.instance.producers
          return copy_all(consumer, work, pool, chance) if chance % 3 == 0
          consumer.messages.each do |message|
            consumer.transaction(pool) { copy_one(consumer, work, message, chance) && consumer.mark_as_consumed(message) }
          end
        end

        def copy_all(consumer, work, pool, chance)
          consumer.transaction(pool) do
            consumer.messages.each { |message| copy_one(consumer, work, message, chance) }
            consumer.mark_as_consumed(consumer.messages.last)
          end
        end

        def copy_one(consumer, work, message, chance)
          truth = @checker.record_begins(work, message)
          duration = duration(chance(truth.uid, truth.tries))
          work_on(work, duration) if duration.positive?
          @checker.copied(work, truth)
          consumer.producer.produce(truth.uid)
          @world.faults.sprung(:transaction, work.instance) if (chance >> 3) % 6 == 0
          fail_perhaps(work, truth)
          @checker.record_ran(work, truth)
        end
      end
    end
  end
end
