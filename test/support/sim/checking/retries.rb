# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks records that are sent to retry topics: I12 (from one to the next, to the dead letters at the end; with
        # the count of their attempts and the time at which they are due), I2 (none runs before that). Part of
        # {Checker}.
        module Retries
          private

          # @return [String, nil] what is wrong with the message for a failed record
          def misled(truth, message, quarantined)
            last = quarantined || truth.tier == @plan.tiers.size
            topic = last ? @plan.letter_topic : Application.retry_topics(@plan, truth.origin.place[0])[truth.tier]
            return "goes to #{message[:topic]} instead of #{topic}" unless message[:topic] == topic
            moves(truth, last)
            return "still has the headers of the retry topics" if last && message[:headers].key?("penstock_due_at")
            (miscounted(truth, message) unless quarantined) || (misdated(truth, message) unless last)
          end

          def moves(truth, last)
            @coverage.hit(last ? "end of the retry topics" : "retry topic")
            @coverage.hit("retry topic after another") if truth.tier.positive? && !last
          end

          # Failures here are added to earlier ones.
          def miscounted(truth, message)
            attempts = message[:headers]["source_attempts"].to_i
            before = truth.record.headers.to_h["penstock_attempt"].to_i
            return if attempts.between?(before + 1, before + counted(truth, :failures))
            "counts #{attempts} attempts, #{before} of them elsewhere, of #{truth.failures} failures here"
          end

          # It waits from the moment at which it failed.
          def misdated(truth, message)
            due = message[:headers]["penstock_due_at"].to_i
            return if truth.failed_walls.include?(due - @plan.tiers[truth.tier])
            "is due at #{due}, it failed at #{truth.failed_walls}"
          end

          # A record of a retry topic begins to run. It waits at most for its topic's delay, regardless of the clock.
          def due(truth)
            due = truth.record.headers["penstock_due_at"].to_i
            latest = truth.arrived_at + @plan.tiers[truth.tier - 1]
            return if @world.clock.latest_ms >= due || @world.timeline.now >= latest
            fail("I2", "#{truth.inspect} runs at #{@world.clock.latest_ms}, it is due at #{due}")
          end
        end
      end
    end
  end
end
