# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks delayed messages: I2 (none leaves its topic, or arrives, early; each arrives as it was scheduled), I1 (no
        # record counts as complete before its message has arrived where it goes next, and each arrives at last). Part of
        # {Checker}.
        module Hops
          # A worker begins with a record of a delay topic.
          def hop_begins(work, message)
            truth = truth_of(message)
            @world.trace(:hop, work.instance.number, truth.uid)
            same = message.offset == truth.offset && work.place == truth.place && message.raw_payload == truth.record.payload
            fail("I2", "#{message.uid} is not what was written as #{truth.uid}") unless same
            may_leave(truth)
            in_order(truth)
            again(work, truth) if truth.done && !truth.exempt
            truth.ran = true
            truth.failed_at = nil
          end

          # Its message is handed to the producer.
          # @return [Truth] the record
          def hop_offered(instance, message)
            truth = truth_in(message[:payload], message[:headers])
            @world.trace(:hop_offered, instance.number, truth.uid)
            truth
          end

          # All records up to this one are declared complete.
          def hop_complete(work, truth)
            lost = work.truths.find { |other| other.uid <= truth.uid && !other.moved }
            return unless lost
            fail("I1", "#{work.inspect} marks #{truth.inspect}, but the message of #{lost.inspect} has arrived nowhere")
          end

          # The message is in the next delay topic.
          def hop_moved(truth, message)
            @coverage.hit(message[:headers].key?("penstock_delay_failures") ? "hop: set back" : "hop: moved")
            once_more_moved(truth)
          end

          # The message is in its target.
          def hop_arrived(truth, message)
            @coverage.hit("hop: arrived")
            once_more_moved(truth)
            truth.origin.reached = true
            due = truth.origin.record.headers.fetch("penstock_delay_until").to_i
            early = due - @world.clock.latest_ms
            fail("I2", "the message of #{truth.inspect} arrives #{early} ms early") if early.positive?
            wrong = altered(truth.origin, message)
            fail("I2", "the message of #{truth.inspect} arrives with another #{wrong}: #{message}") if wrong
          end

          # @return [String, nil] a message that has not arrived
          def unreached
            return unless @plan.hops
            lost = @truths.find { |truth| truth.origin.equal?(truth) && !truth.reached && !truth.exempt }
            "the delayed message #{lost.uid} has not arrived" if lost
          end

          private

          def once_more_moved(truth)
            @coverage.hit("hop: twice") if truth.moved
            truth.moved = true
          end

          def may_leave(truth)
            due = truth.record.headers.fetch("penstock_due_at").to_i
            number = truth.place[0][/\d+\z/].to_i
            return if @world.clock.latest_ms >= due || @world.timeline.now >= truth.arrived_at + @plan.hops[number - 1]
            fail("I2", "#{truth.inspect} leaves at #{@world.clock.latest_ms}, its time is #{due}")
          end

          def altered(first, message)
            headers = first.record.headers
            expected = {payload: first.record.payload, key: headers["penstock_delay_key"]}
            wrong = expected.find { |field, value| message[field] != value } and return wrong.first
            return "id" unless message[:headers]["penstock_delay_id"] == headers["penstock_delay_id"]
            "headers" unless message[:headers]["trace"] == headers["trace"] && !message[:headers].key?("penstock_due_at")
          end
        end
      end
    end
  end
end
