# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks what transactions have made visible: I8 (each record is copied once, in its order, and exactly when the
        # record is done). Part of {Checker}.
        module Copies
          # A record's copy is about to be produced.
          def copied(work, truth) = (@copying ||= {})[truth.uid] = work

          # A transaction is committed; its offsets count from now on.
          # @param uids [Array<Integer>] numbers of the records that were copied
          def transaction_committed(uids)
            @coverage.hit("transaction committed")
            uids.each do |uid|
              truth = @truths[uid]
              truth.copies += 1
              fail("I8", "#{truth.inspect} was copied #{truth.copies} times") if truth.copies > 1
              copied_in_order(truth)
              work = @copying.fetch(uid)
              @coverage.hit("transaction committed after the hand-over") unless work.driver.assigned.include?(work.place)
              done(work, truth)
            end
          end

          # @return [String, nil] a record that is done and was not copied
          def uncopied
            return unless @plan.transactions
            truth = @truths.find { |each| each.done && !each.exempt && each.copies.zero? } or return
            "record #{truth.uid} at #{truth.place.join("/")}/#{truth.offset} is done and was never copied"
          end

          private

          def copied_in_order(truth)
            all = sequence(truth) or return
            first = all.find { |other| other.copies.zero? && !other.exempt }
            fail("I8", "#{truth.inspect} was copied before #{first.inspect}") if first && first.uid < truth.uid
          end
        end
      end
    end
  end
end
