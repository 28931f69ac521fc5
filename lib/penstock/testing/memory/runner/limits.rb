# frozen_string_literal: true

require_relative "../../errors"

module Penstock
  module Testing
    module Memory
      class Runner
        # Ends a run that would never end by itself, and decides which error it raises.
        class Limits
          # Calls of user code in one run.
          CALLS = 10_000
          # Attempts at one record.
          ATTEMPTS = 1_000
          # Events without a call of user code.
          EVENTS = 200_000
          # How many of the last calls the error names.
          SHOWN = 5
          private_constant :EVENTS, :SHOWN

          # @param journal [Journal]
          # @param calls [Integer]
          # @param raise_errors [Boolean] whether the first error of a consumer ends the run
          # @param travel [Boolean] whether the run ends at a time, not when nothing is left to do
          def initialize(journal, calls:, raise_errors:, travel: false)
            @journal = journal
            @calls = calls
            @raise_errors = raise_errors
            @travel = travel
            @events = @seen = @again = 0
            @last = nil
          end

          # An event has happened.
          # @raise [EndlessRunError] nothing else has for long
          def count
            calls = @journal.run.calls.size
            called(@journal.run.calls.last) unless calls == @seen
            @seen = calls
            return if (@events += 1) < EVENTS
            raise EndlessRunError, "#{what}: #{EVENTS} events without a call of a consumer, after #{calls} calls. #{remedy}"
          end

          # @return [Boolean] whether the run must end now
          def reached?
            run = @journal.run
            run.crashed? || !@journal.abort.nil? || run.calls.size > @calls || @again > ATTEMPTS ||
              (@raise_errors && run.errors.any?)
          end

          # @param run [Run] that has ended
          # @raise [Exception] instead of returning the run
          def raise_error(run)
            raise run.abort if run.abort
            raise run.errors.first if @raise_errors && run.errors.any?
            raise EndlessRunError, again_and_again(run) if @again > ATTEMPTS
            raise EndlessRunError, endless(run) if run.calls.size > @calls
          end

          private

          def what = @travel ? "travel was ended early" : "consume_all doesn't end"

          def remedy
            return "Travel in several shorter steps" if @travel
            "The in-memory Kafka can't run this application to its end; run it with consume_all(within: 60)"
          end

          # Hooks don't interrupt a series of attempts.
          def called(call)
            @events = 0
            return unless call.consume?
            @again = 0 unless @last&.same_records?(call)
            @again += 1
            @last = call
          end

          def again_and_again(run)
            call = run.calls.reverse_each.find(&:consume?)
            error = run.errors.last
            message = error ? "fails with #{error.class}: #{error.message.to_s[0, 200]}" : "is consumed"
            earlier = @travel ? "travel less, or with raise_errors: true" : "end the run earlier, with consume_all(within: 60) " \
              "or consume_all(raise_errors: true)"
            "#{call.place} #{call.shown_offsets} #{message}, again and again: #{ATTEMPTS} times. #{way_out(run, call)}, or " \
              "#{earlier}"
          end

          def way_out(run, call)
            return "Many records of #{call.topic} fail alike, so its breaker holds it: add breaker false to the route" if
              run.held.include?(call.topic)
            "Its route tries for ever: add dead_letter_queue max_retries:"
          end

          def endless(run)
            last = run.calls.last(SHOWN).map { |call| "#{call.place} #{call.action} at #{call.shown_offsets}" }
            cause = "A consumer that produces to a topic that it reads never ends; if" unless @travel
            allowed = @travel ? "travel(…, limit: #{@calls * 10})" : "consume_all(limit: #{@calls * 10})"
            "#{what}: more than #{@calls} calls of consumers, the last are #{last.uniq.join("; ")}. #{cause || "If"} that many " \
              "are right, allow them: #{allowed}"
          end
        end
      end
    end
  end
end
