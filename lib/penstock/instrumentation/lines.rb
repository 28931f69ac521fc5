# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module Instrumentation
    # Builds the parts of log lines. Each method takes an {Event} or a value of one, and returns a String; none fails on
    # a payload with missing keys, because a log line must never be the reason why something stops.
    module Lines
      # Length limit for an error's message in a line about something else.
      FAILURE_BYTES = 250

      module_function

      # @return [String] "orders/3"; only the topic if a message has no partition yet
      def lane(event)
        unknown = event[:partition].is_a?(Integer) && event[:partition].negative?
        unknown ? event[:topic].to_s : "#{event[:topic]}/#{event[:partition]}"
      end

      # @return [String] "orders/3 at offset 7"
      def record(event)
        "#{lane(event)} at offset #{event[:offset]}"
      end

      # @return [String] "orders.dead, without its payload"
      def letter(event)
        "#{event[:to]}#{", without its #{event[:omitted].split(",").join(" and its ")}" if event[:omitted]}"
      end

      # @return [String] "ArgumentError: no total, attempt 4"
      def failure(event) = "#{Printable.error(event[:error], FAILURE_BYTES)}#{attempt(event)}"

      # @return [String] "orders/3: after an error 12 messages from offset 7 on are delivered again, because they were
      #   …"
      def redelivery(event)
        "#{lane(event)}: after an error #{count(event[:count], "message")} from offset #{event[:offset]} on are delivered " \
          "again, because they were not marked as consumed"
      end

      # @param event [Event] `consumer.unmarked`
      def unmarked(event)
        "#{lane(event)}: #{event[:place]} has marked nothing from offset #{event[:offset]} on for " \
          "#{duration(event[:waited_ms])}, although its calls end without an error. With manual_offset_management nothing is " \
          "committed until you call mark_as_consumed: after a restart or a rebalance these records come again"
      end

      # @param event [Event] `partition.window_full`
      def window_full(event)
        waited = duration(event[:waited_ms])
        if event[:reason] == "unmarked"
          return "#{lane(event)}: offset #{event[:offset]} has not been marked for #{waited} although its job has ended; the " \
            "partition is blocked until it is: call mark_as_consumed"
        end
        return throttled_window(event, waited) if event[:reason].to_s == "throttle"
        return full_metadata(event, waited) if event[:reason].to_s == "metadata"
        "#{lane(event)}: #{event[:count]} records that run or are retried fill its window (#{event[:reason]}), the first of " \
          "them offset #{event[:offset]}: for #{waited} no other has been taken. Let records fail sooner (max_retries of a " \
          "dead letter queue), or set a larger window"
      end

      # @param event [Event] `partition.window_full` because of `throttle per: :key`
      def throttled_window(event, waited)
        "#{lane(event)}: records of keys that have used up their throttle fill most of its window for #{waited} " \
          "(#{event[:count]} are incomplete): few records of other keys are found. Raise the limit, or set a larger window"
      end

      # @param event [Event] `partition.window_full` because of the room in a commit
      def full_metadata(event, waited)
        "#{lane(event)}: offset #{event[:offset]} hasn't been done for #{waited}, and the list of what is done beyond it may " \
          "outgrow the metadata of a commit: no other record is taken until it is done. Let it fail sooner (max_retries of a " \
          "dead letter queue)"
      end

      # @param event [Event] `listener.slow`
      def slow_listener(event)
        "a listener of #{event[:inside]} took #{time(event)}: #{event[:listener]}. The thread that published the event waited " \
          "for it: do slow work on a thread of your own"
      end

      # @param event [Event] `group.foreign_topics`
      def foreign_topics(event)
        "group #{event[:consumer_group_id]}: members of the group consume topics that this application doesn't: " \
          "#{list(event[:topics])} (#{list(event[:members])}). If that is another application, give it a consumer group of its " \
          "own: in one group, each rebalance and deployment of one interrupts the other. If it is another version of this " \
          "application, nothing has to be done"
      end

      # @return [String] name of the subscription group
      def group(event)
        group = event[:subscription_group]
        return group.id.to_s if group.respond_to?(:id)

        (event[:subscription_group_id] || group || event[:consumer_group_id]).to_s
      end

      # @return [String] "100 messages (offsets 200..299)"
      def batch(event)
        "#{count(event[:messages_count], "message")} (#{offsets(event)})"
      end

      def offsets(event)
        first, last = event.payload.values_at(:first_offset, :last_offset)
        (first == last) ? "offset #{first}" : "offsets #{first}..#{last}"
      end

      def count(number, noun)
        "#{number} #{noun}#{"s" unless number == 1}"
      end

      # @return [String] "51,200"
      def thousands(number) = number.to_s.gsub(/(?<=\d)(?=(?:\d{3})+\z)/, ",")

      # @param report [Log::Summaries::Report]
      # @return [String] "orders: 51,200 messages in 512 calls in 5 s (10,240/s), a call takes 1.2 ms (p50), 4.0 ms (p95); lag
      #   3,100"
      def summary(report)
        took = report.milliseconds
        rate = " (#{thousands((report.messages * 1_000.0 / took).round)}/s)" if took >= 1_000
        "#{report.topic}#{" (group #{report.group})" if report.group}: #{many(report.messages, "message")} in " \
          "#{many(report.calls, "call")} in #{rounded(took)}#{rate}, #{call_times(report)}" \
          "#{"; lag #{thousands(report.lag)}" if report.lag}"
      end

      # @param report [Log::Repetitions::Report]
      # @param last [String] first line of the last one
      # @return [String] "the same error 1,240 times in the last 5 s: orders/3: consume failed …"
      def repetition(report, last)
        time = "in the last #{rounded(report.milliseconds)}"
        return "#{many(report.count, "other line")} #{time}, the last: #{last}" if report.mixed

        same = (report.event.id == "error.occurred") ? "the same error" : "the same"
        times = (report.count == 1) ? "once more" : "#{thousands(report.count)} times"
        "#{same} #{times} #{time}#{", the last" if report.count > 1}: #{last}"
      end

      # @return [String] "assigned orders 2, 3", or "keeps orders 0, 1" if there is nothing new
      def assigned(event)
        kept = event[:kept]
        return "keeps #{partitions(kept)}" if Array(event[:tpl]).empty? && kept && !kept.empty?

        "assigned #{partitions(event[:tpl])}"
      end

      # @return [String] "orders/3: paused by the consumer at offset 7 for 2 s"
      def pause(event, who)
        for_how_long = event[:timeout] ? "for #{duration(event[:timeout])}" : "until it is resumed"
        "#{lane(event)}: paused #{who} at offset #{event[:offset]} #{for_how_long}"
      end

      # @return [String] "12.3 ms", "4.1 s"
      def time(event)
        duration(event[:time])
      end

      # @param event [Event] `offsets.unavailable`
      def unavailable(event)
        "not consumed for #{duration(event[:waited_ms])}: its committed offset can't be read (#{event[:reason]}); " \
          "the request is repeated until it succeeds"
      end

      def duration(milliseconds)
        return "an unknown time" unless milliseconds
        return "#{milliseconds.round(1)} ms" if milliseconds < 1_000

        "#{(milliseconds / 1_000.0).round(1)} s"
      end

      # @return [String] "2 s", "4.1 s", "500 ms"
      def rounded(milliseconds) = duration(milliseconds).sub(".0 ", " ")

      def lag(event)
        event[:lag] ? ", lag #{event[:lag]}" : ""
      end

      def attempt(event)
        ((event[:attempt] || 1) > 1) ? ", attempt #{event[:attempt]}" : ""
      end

      def reason(event)
        event[:reason] ? " (#{event[:reason]})" : ""
      end

      def list(values)
        Array(values).join(", ")
      end

      # @return [String] "orders 0, 1; clicks 3"
      def partitions(tpl)
        return "no partitions" if tpl.nil? || tpl.empty?

        tpl.group_by(&:first).map { |topic, pairs| "#{topic} #{pairs.map(&:last).sort.join(", ")}" }.join("; ")
      end

      # @return [String] "orders/0@17, orders/1@4"
      def positions(offsets)
        Array(offsets).map { |topic, partition, offset| "#{topic}/#{partition}@#{offset}" }.join(", ")
      end

      # @return [String] target of a seek
      def target(message)
        message = message.offset if message.respond_to?(:offset)
        message.is_a?(Integer) ? "offset #{message}" : message.to_s
      end

      def topic(event)
        return missing_topic(event) unless event[:exists]

        parts = [count(event[:partitions], "partition")]
        parts << "committed #{event[:committed]}" if event[:committed]
        parts << "lag #{event[:lag]}" if event[:lag]
        parts << "starts at #{event[:start_offset]}" if event[:start_offset]
        "topic #{event[:topic]} (group #{event[:consumer_group_id]}): #{parts.join(", ")}"
      end

      def missing_topic(event)
        "topic #{event[:topic]} (group #{event[:consumer_group_id]}) doesn't exist, or this user may not see it; it is " \
          "consumed as soon as it exists. Check its name, or create it: penstock topics create #{event[:topic]}"
      end

      def offset_reset(event)
        never_read = event[:count] if event[:new_offset].to_i > event[:old_offset].to_i
        "#{lane(event)}: continues at offset #{event[:new_offset]} instead of #{event[:old_offset]}: #{reset_reason(event)}" \
          "#{"; never read: #{count(never_read, "record")}" if never_read}"
      end

      def reset_reason(event)
        return event[:reason] unless event[:reason] == "the log went backwards"

        "the log ends before it, because the topic was created again, its end was lost, or `seek` went beyond it"
      end
      private_class_method :reset_reason

      # @return [String] "consume of orders/3 at offset 7, shutdown of orders/4"
      def jobs(units) = list(Array(units).map { |unit| job(unit) })

      # @return [String] "consume of orders/3 at offset 7"
      def job(unit)
        return Printable.line(unit) unless unit.respond_to?(:lane) && unit.respond_to?(:action)

        place = "#{unit.action} of #{unit.topic_name}/#{unit.lane.partition}"
        messages = unit.messages
        return place if messages.nil? || messages.empty?

        first, last = messages.first_offset, messages.last_offset
        (first == last) ? "#{place} at offset #{first}" : "#{place} offsets #{first}..#{last}"
      end

      # @return [String] "512 calls"
      def many(number, noun) = "#{thousands(number)} #{noun}#{"s" unless number == 1}"
      private_class_method :many

      def call_times(report)
        median, most = [0.5, 0.95].map do |share|
          time = report.times.percentile(share)
          (time < 1) ? "#{time.round(2)} ms" : duration(time)
        end
        (report.calls == 1) ? "which took #{median}" : "a call takes #{median} (p50), #{most} (p95)"
      end
      private_class_method :call_times
    end
  end
end
