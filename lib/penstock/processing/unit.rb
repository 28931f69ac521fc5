# frozen_string_literal: true

module Penstock
  module Processing
    # A piece of work for a worker: records of one lane, or a hook of its consumer.
    #
    # `action` is :consume, :prepare (the user's filters and partitioner look at records), :eofed, :tick, :revoked or :shutdown.
    # `upto` is the offset behind its last record. `incarnation` names the lane's life the unit belongs to: what comes back from
    # an earlier one counts no more. `key` and `marks` are those of a unit of one key: nothing else of the key runs meanwhile, and
    # marks are written into a cell of the unit's own. `crashes` says of the one record of a unit that it isn't run: so often has
    # the process died with it. `collapsed`: user code asked for one row. `stretch`: what follows in the same worker ({Stretch}).
    # `begun`: number of its first record among the fresh ones of its topic, from when it runs ({Failure::Window}). `probe`: one
    # record that is tried while the topic's breaker is open. `instance`: whose consumer has it, where keys run side by side and
    # records are marked by the user; nil again once its records have come again.
    Unit = Struct.new(:lane, :action, :messages, :upto, :attempt, :incarnation, :key, :marks, :crashes, :collapsed, :stretch,
      :begun, :probe, :instance) do
      def consume? = action == :consume
      def single? = messages.size == 1
      def prepare? = action == :prepare
      def hook? = action == :revoked || action == :shutdown
      def topic_name = lane.topic_name

      # @return [Array, nil] equal for units of which one follows the other: those of one key, else those of one partition; nil
      #   where its one record follows none
      def sequence
        return lane.key unless lane.rolling?
        [*lane.key, key] unless key == messages.first_offset
      end

      # A consumer gets it, and may hold its records until it fails. One that is made for each call holds nothing.
      # @param context [Consumer::Context]
      def held_by(context)
        topic = lane.topic
        return unless marks && topic.manual_offset_management? && topic.consumer_persistence
        self.instance = context
        marks.held_by(context)
      end

      # @return [Messages, nil] what hasn't begun behind the records it is at
      def rest = stretch&.rest

      # The worker goes on with what follows.
      def go_on
        self.messages = messages = stretch.cut
        self.upto = messages.last_offset + 1
      end

      # The loop has back what wasn't begun: it is next again, but for what a seek from outside has passed meanwhile. What waits
      # behind the unit was called back before.
      def give_back_rest
        return unless rest && incarnation == lane.incarnation
        lane.division.requeue(key, rest.from_offset(lane.ledger.base || 0))
      end

      # Before it goes to a worker: what is beyond so many records is next again.
      # @param count [Integer]
      def shorten(count)
        return if messages.size <= count
        lane.division.requeue(key, messages.slice(count, messages.size - count))
        self.messages = messages.slice(0, count)
        self.upto = messages.last_offset + 1
      end

      # @param these [Array<Lane, Unit>]
      # @return [Boolean] whether it is one of them, or of one of them
      def among?(these) = these.any? { |each| equal?(each) || lane.equal?(each) }
    end

    # What a worker hands back. `blamed` is the offset of the record the error belongs to, `through` the highest mark,
    # `flow` what the user asked of the partition, `finished` false when an `each` was left early without an error, `advice` what
    # else user code had to say: verdicts of filters and partitioner, policies about an error.
    Outcome = Struct.new(:unit, :error, :blamed, :flow, :finished, :time_ms, :advice, :time_us) do
      class << self
        # By position, in the order above: names cost as much again as the object, and every unit has an outcome.
        alias_method :of, :new

        def new(unit: nil, error: nil, blamed: nil, flow: nil, finished: nil, time_ms: nil, advice: nil, time_us: nil)
          of(unit, error, blamed, flow, finished, time_ms, advice, time_us)
        end
      end

      # @return [Boolean] whether what follows in the lane may run without asking the loop
      def smooth? = error.nil? && flow.nil? && unit&.rest.nil?

      # @return [Boolean] whether the unit may go on with what follows
      def plain? = error.nil? && flow.nil? && finished
    end
  end
end
