# frozen_string_literal: true

module Penstock
  module Processing
    # A piece of work for a worker: records of one lane, or a hook of its consumer.
    #
    # `action` is :consume, :prepare (the user's filters and partitioner see records), :eofed, :tick, :revoked or :shutdown.
    # `upto` is the offset after its last record. `incarnation` is the lane incarnation that the unit belongs to: outcomes of an
    # earlier one don't count. `key` and `marks` are set for a unit of one key: nothing else of the key runs meanwhile, and marks
    # are written into the unit's own cell. `crashes`: how often the process died while it ran the unit's only record, which is
    # therefore not run. `collapsed`: user code requested that all keys run in order. `stretch`: further calls for the same worker
    # ({MultiCallUnit}). `first_number`: number of its first record among the fresh ones of its topic, set when it runs
    # ({Failure::Window}). `probe`: one record that is tried while the topic's breaker is open. `instance`: the consumer context
    # that got it, where keys run in parallel and the user marks records; nil again once its records have been redelivered.
    # `expired`: its records aren't run, but sent to the topic of `expire_in`. `wished`: a `tick` that
    # user code requested by `tick_in`, and that isn't lost if the unit is called back.
    Unit = Struct.new(:lane, :action, :messages, :upto, :attempt, :incarnation, :key, :marks, :crashes, :collapsed, :stretch,
      :first_number, :probe, :instance, :expired, :wished) do
      def consume? = action == :consume
      def single? = messages.size == 1

      # @return [Boolean] of a failed unit: whether it is known which of its records has failed
      def located? = single? || !messages.cursor.nil?

      # @return [Boolean] whether its records are passed to a consumer
      def runs? = crashes.nil? && !expired
      def prepare? = action == :prepare
      def hook? = action == :revoked || action == :shutdown
      def topic_name = lane.topic_name

      # @return [Array, nil] equal for units that follow each other: those of one key, else those of one partition; nil if its
      #   only record follows none
      def sequence
        return lane.key unless lane.by_key?
        [*lane.key, key] unless key == messages.first_offset
      end

      # @return [Integer, nil] records between its last one and the end of the partition, as known when records were last taken
      def lag
        log_end = lane.log_end
        log_end && [log_end - messages.last_offset - 1, 0].max
      end

      # A consumer gets the unit, and may hold its records until it fails. A consumer created for each call holds nothing.
      # @param context [Consumer::Context]
      def add_holder(context)
        topic = lane.topic
        return unless marks && topic.manual_offset_management? && topic.consumer_persistence
        self.instance = context
        marks.add_holder(context)
      end

      # @return [Messages, nil] records of its stretch that haven't begun
      def rest = stretch&.rest

      # Numbers its records, which begin, or have begun in another process: where they are fresh, the topic's breaker needs their
      # order.
      # @return [void]
      def number_fresh_records
        breaker = lane.breaker
        self.first_number = breaker.number_records(messages.size, self) if breaker && attempt == 1 && consume?
      end

      # The worker continues with the next call.
      def begin_next_call
        self.messages = messages = stretch.cut
        self.upto = messages.last_offset + 1
      end

      # Requeues the records that weren't begun: they run next, except those that a seek from outside has passed meanwhile.
      # Units that waited after this one were called back before.
      def requeue_rest
        return unless rest && incarnation == lane.incarnation
        lane.division.requeue(key, rest.from_offset(lane.ledger.base || 0), again: attempt > 1)
      end

      # @return [Messages] its incomplete records
      def incomplete
        ledger = lane.ledger
        return messages unless ledger.known?
        return messages.from_offset(ledger.base) unless lane.by_key?
        messages.pick((0...messages.size).reject { |index| ledger.complete?(messages.offset_at(index)) })
      end

      # @param time_us [Integer] its duration
      def record_time(time_us)
        return unless consume?
        lane.division.record_time(stretch ? time_us / stretch.calls : time_us, messages.size)
      end

      # Called before the unit goes to a worker: records beyond the count are requeued and run next.
      # @param count [Integer]
      def shorten(count)
        return if messages.size <= count
        lane.division.requeue(key, messages.slice(count, messages.size - count), again: attempt > 1)
        self.messages = messages.slice(0, count)
        self.upto = messages.last_offset + 1
      end

      # Called before the unit goes to a worker: its other records are complete. The attempt is that of its first record.
      # @param left [Messages] of the unit; may be empty
      def continue_with(left)
        self.messages = left
        self.attempt = lane.attempts.of(left.first_offset) + 1 unless left.empty?
      end

      # @param these [Array<Lane, Unit>]
      # @return [Boolean] whether the unit, or its lane, is one of them
      def among?(these) = these.any? { |each| equal?(each) || lane.equal?(each) }
    end

    # A worker's report about a unit. `blamed` is the offset of the record the error belongs to, `flow` the user's
    # request about the partition, `finished` false when the code left an `each` early without an error. `callback_results` are
    # those of other user code: of filters and partitioner ({Admission::Prepared}), or, after an error, of strategy,
    # `backoff_for` and `enhance_dlq_message` ({Failure::CallbackResults}).
    Outcome = Struct.new(:unit, :error, :blamed, :flow, :finished, :time_ms, :callback_results, :time_us) do
      class << self
        # By position, in the order above: keyword arguments cost as much again as the object, and every unit has an outcome.
        alias_method :of, :new

        def new(unit: nil, error: nil, blamed: nil, flow: nil, finished: nil, time_ms: nil, callback_results: nil, time_us: nil)
          of(unit, error, blamed, flow, finished, time_ms, callback_results, time_us)
        end
      end

      # @return [Boolean] whether, in a lane that runs in order, the next unit must wait until the loop has settled this outcome
      def stalls? = !(error.nil? && flow.nil? && unit&.rest.nil?)

      # @see Unit#located?
      def located? = unit.located?

      # @return [Boolean] whether the worker may begin the unit's next call
      def allows_next_call? = error.nil? && flow.nil? && finished
    end
  end
end
