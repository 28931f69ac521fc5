# frozen_string_literal: true

require_relative "../compat/karafka/consumer"
require_relative "../errors"
require_relative "../routing/features/periodic_job"
require_relative "context"
require_relative "marking_each"
require_relative "pipe"

module Penstock
  # Base class of an application's consumers: override {#consume}, and the hooks you need.
  #
  #     class OrdersConsumer < Penstock::BaseConsumer
  #       def consume
  #         messages.each { |message| Billing.charge(message.payload) }
  #       end
  #     end
  #
  # One instance serves one partition for as long as this process owns it, created when the first records arrive. Two threads
  # never run it at once, but it isn't always the same thread: keep state in instance variables, not in `Thread.current`. All
  # instance variables are yours, except those that begin with `@penstock_`.
  class BaseConsumer
    include Compat::Karafka::Consumer

    UNBUILT = "this consumer was created by `new`, so it has no records. In a test, build it with penstock.consumer_for"
    private_constant :UNBUILT

    # @!group Override these

    # Called with a batch of records, available as {#messages}. If it raises nothing, all of them are complete afterwards
    # (automatic offsets).
    # @return [void]
    def consume
      raise NotImplementedError, "#{self.class} doesn't define consume: implement it to process messages"
    end

    # Called once, before the first {#consume}. Errors are reported and don't stop the consumer.
    # @return [void]
    def initialized
    end

    # Called when the partition is revoked. Marks still count unless it was lost (then {#revoked?} is true and marking returns
    # false).
    # @return [void]
    def revoked
    end

    # Called when the process stops, after the last job.
    # @return [void]
    def shutdown
    end

    # Called at the end of the partition: in order when no records came with it, with parallel keys also after those that did.
    # Enabled by `eofed true` in the route.
    # @return [void]
    def eofed
    end

    # Called after each interval in which the partition had nothing to do, with or without messages. Enabled by `periodic` in
    # the route. Never runs at the same time as {#consume}. Errors are reported and not retried.
    # @return [void]
    def tick
    end

    # Wraps every call of user code of this consumer; must yield. An error of the call doesn't reach it: `yield` returns nil, and
    # the error counts when this method has ended. Only in a transaction that this method has begun it is raised here too, so that
    # it is aborted.
    # @param _action [Symbol] :consume, :revoked, :shutdown, :eofed or :tick
    def wrap(_action)
      yield
    end

    # @!endgroup

    # @return [Messages] the records of this call; in hooks those of the last call of {#consume}, empty before the first. In a
    #   hook they can't be marked if they come again
    def messages = (@penstock_context || raise(ConfigurationError, "#{self.class}: #{UNBUILT}")).messages

    # @return [String] id of this instance, for logs
    def id = @penstock_id ||= format("%012x", object_id)

    # @return [Routing::Topic] the route this consumer serves
    def topic = @penstock_context.topic

    # @return [Integer]
    def partition = @penstock_context.partition

    # @return [Producer] the application's producer; inside {#transaction} the transaction's producer
    def producer = @penstock_context.producer

    # Sets another producer for this consumer from now on, for its dead letters too; nil: the application's again.
    # @param producer [Producer, nil]
    def producer=(producer)
      @penstock_context.producer = producer
    end

    # @return [Consumer::ErrorsTracker] the errors since the last success
    def errors_tracker = @penstock_context.errors

    # @return [Consumer::Tags]
    def tags = @penstock_context.tags

    # @return [Integer] 1 on the first attempt at a record
    def attempt = @penstock_context.attempt

    # @return [Boolean] whether this is not the first attempt
    def retrying? = attempt > 1

    # @return [Boolean] whether {#consume} was called before or is being called
    def used? = @penstock_context.used?

    # @return [Boolean] whether the end of the partition was reached: after these messages, or since then
    def eofed? = @penstock_context.eofed?

    # @return [Boolean] whether the partition is being revoked or is gone; may change while {#consume} runs
    def revoked? = @penstock_context.marks.leaving?

    # @return [Boolean] whether the process stops or the partition is being revoked: long loops should end
    def stopping? = revoked? || @penstock_context.loop_client.stopping?

    # Iterates the messages; an error is blamed on the current one. With `adaptive_iterator` in the route it marks them too.
    # @yieldparam message [Message]
    def each(&block)
      iterator = topic.features[:adaptive_iterator]
      (iterator && block) ? penstock_marking_each(iterator).call(messages, &block) : messages.each(&block)
    end

    # Marks the message and everything before it in the partition as complete. One write, no I/O.
    # @param message [Message] a message of this partition
    # @param metadata [String, nil] offset metadata for the next commit, at most 1,024 bytes
    # @return [Boolean] false when the partition is no longer ours: stop, its next owner has taken over; and when this call has
    #   requested a {#seek} to this message or an earlier one, except in a {#transaction}
    def mark_as_consumed(message, metadata = nil) = @penstock_context.mark(message, metadata)

    # Like {#mark_as_consumed}, and waits until the broker has acknowledged the commit.
    # @return [Boolean] false when the partition is no longer ours, or continues elsewhere: the mark may be lost
    def mark_as_consumed!(message, metadata = nil) = @penstock_context.mark!(message, metadata)

    # Makes everything that the block produces (through the consumer or the producer) and marks visible together, or none of
    # it. The producer needs a `transactional.id`. An error in the block aborts the transaction and is raised again, except
    # {AbortTransaction}.
    #
    # @param producer [Producer, #with, nil] a producer other than {#producer}, which returns it inside the block; or a pool
    #   of producers
    # @yieldparam transaction [Producer::Transaction]
    # @return [Object, nil] the block's return value; nil when {AbortTransaction} left the block
    # @raise [AssignmentLostError] something was marked and the partition is no longer ours: aborted
    # @raise [TransactionDeferredError] the offset of the marked records could not be included: aborted, runs again
    # @raise [TransactionAlreadyInitializedError] inside another transaction of this consumer
    # @raise [ProducerNotTransactionalError, KafkaError, WaitTimeoutError] see {Producer#transaction}
    # @raise [ArgumentError] without a block, or for any other producer
    def transaction(producer = nil, &) = @penstock_context.transaction(producer, &)

    # Commits everything that is marked or complete.
    # @param async [Boolean] don't wait
    # @return [Boolean] false when the partition is no longer ours
    def commit_offsets(async: true) = async ? @penstock_context.commit_soon : @penstock_context.commit

    # Commits and waits for the acknowledgement.
    # @return [Boolean] same as {#mark_as_consumed!}
    def commit_offsets! = @penstock_context.commit

    # Continues at another offset. Takes effect after {#consume} has returned; only what it marked is complete. With `parallel`
    # and automatic offsets, what other calls haven't completed before it is completed first. Beyond the end of the log the
    # partition continues where `initial_offset` points: by default it is processed again from the start.
    # @param target [Integer, Time, :earliest, :latest] :latest waits for the next new record
    # @param reset_offset [Boolean] for callers written for Karafka: a seek always sets the committed offset
    # @raise [InvalidTimeBasedOffsetError] when there is no record at or after the time
    # @raise [ArgumentError] for any other target, and for negative offsets
    # @raise [UnsupportedCaseError] for `reset_offset: false`
    def seek(target, reset_offset: true) = @penstock_context.seek(target, reset_offset)

    # Pauses the partition after {#consume} has returned.
    # @param offset [Integer, :consecutive] where it continues; :consecutive: where this call has requested before ({#seek}, or a
    #   pause with an offset), else after its records
    # @param timeout [Numeric, ActiveSupport::Duration, nil] ms, or a duration; nil: the `timeout` of the route's
    #   `pause`, or else `config.pause.timeout`; `Float::INFINITY`: until {#resume}
    # @raise [ArgumentError] for any other offset or timeout, and for a fraction that looks like seconds (2.5)
    def pause(offset = :consecutive, timeout = nil) = @penstock_context.pause(offset, timeout)

    # Ends the wait of {#pause}, from any thread, also before {#consume} has returned. Where the partition continues stays.
    def resume = @penstock_context.resume

    # Where records run in parallel: from now on they run one by one, in the partition's order, until the record at the offset
    # is finished. Units that already run end first. The highest of several requests counts.
    # @param offset [Integer]
    def collapse_until!(offset) = @penstock_context.collapse_until(offset)

    # @return [Boolean] whether this call is one of those requested by {#collapse_until!}, or of those before a {#seek} that waits
    def collapsed? = @penstock_context.collapsed?

    # Calls {#tick} once, when that time has passed and the running calls of the partition have ended; nothing new of the
    # partition begins before it. Of several wishes the earliest counts: one call of {#tick} serves all that were made before.
    # The wish ends with the assignment. The route needs no `periodic`; where it has one, its `during_pause` and `during_retry`
    # apply.
    # @param timeout [Numeric, ActiveSupport::Duration] ms, or a duration
    # @return [Boolean] false when the partition is no longer ours
    # @raise [ArgumentError] for any other value, and for a fraction that looks like seconds (2.5)
    # @raise [UnsupportedCaseError] the consumer has no `tick`, or runs in processes of a pool, where it isn't called
    def tick_in(timeout)
      return @penstock_context.tick_in(timeout) if Routing::Features::PeriodicJob.ticks?(self.class) &&
        !topic.features[:run_on]&.processes?

      raise UnsupportedCaseError, "tick_in of #{self.class} calls tick, which isn't defined or, with run_on :processes, isn't " \
        "called: define `tick`, and use threads or fibers"
    end

    # Stores metadata that is sent with the next commit, regardless of what moves the offset.
    # @param metadata [String] at most 1,024 bytes
    # @return [Boolean] whether the partition is still ours
    # @raise [ArgumentError] for anything else
    def store_offset_metadata(metadata) = @penstock_context.store_metadata(metadata)

    # @return [Object, nil, false] offset metadata committed with this partition, by us or the previous owner: a String, or
    #   the result of the route's `offset_metadata deserializer:`; false when the partition is no longer ours
    def offset_metadata
      marks = @penstock_context.marks
      return false unless marks.owned?
      metadata = marks.metadata || @penstock_context.lane.adopted_metadata
      reader = topic.features[:offset_metadata]
      reader ? reader.read(metadata) : metadata
    end

    # The client's statistics of this partition (`hi_offset`, `consumer_lag_stored`, …), refreshed every
    # `statistics.interval.ms`, also while {#consume} runs. Enabled by `inline_insights` in the route; not available in
    # processes of a pool.
    # @return [Hash{String => Object}] empty before the first statistics
    def insights = @penstock_context.insights
    alias_method :statistics, :insights
    alias_method :inline_insights, :insights

    # @return [Boolean] whether there are statistics
    def insights? = !insights.empty?
    alias_method :statistics?, :insights?
    alias_method :inline_insights?, :insights?

    # Runs the block while no other instance of this partition runs such a block: where keys run in parallel, for state they
    # share. May be nested. Without `parallel` nothing else runs at that time anyway.
    # @yieldreturn [Object]
    # @return [Object] the block's return value
    def synchronize(&) = @penstock_context.synchronize(&)

    %i[produce_async produce_sync produce_many_async produce_many_sync].each do |name|
      # Same as the producer's method of that name.
      define_method(name) { |*args, **options| producer.public_send(name, *args, **options) }
    end

    # @!method pipe_sync(topic:, message:)
    #   Forwards a message to another topic: its bytes, key and headers unchanged, plus the headers `source_topic`,
    #   `source_partition`, `source_offset` and `source_consumer_group`. Messages without a key all go to one partition per
    #   source
    #   partition. `enhance_pipe_message(hash, message)` may change what is sent. Inside {#transaction} it is part of it.
    #   @param topic [String, Symbol]
    #   @param message [Message]
    #   @return [Producer::Delivery::Report] see {Producer#produce_sync}
    # @!method pipe_async(topic:, message:)
    #   Asynchronous version of {#pipe_sync}.
    #   @return [Producer::Delivery::Handle] see {Producer#produce_async}
    %i[sync async].each do |way|
      define_method(:"pipe_#{way}") do |topic:, message:|
        producer.public_send(:"produce_#{way}", penstock_piped(message, topic))
      end

      # Same as `pipe_sync` and `pipe_async`, for many: `topic:` and `messages:`.
      define_method(:"pipe_many_#{way}") do |topic:, messages:|
        producer.public_send(:"produce_many_#{way}", messages.map { |message| penstock_piped(message, topic) })
      end
    end

    # @return [String] short: class, topic, partition
    def inspect = "#<#{self.class} #{@penstock_context&.lane&.topic_name}/#{@penstock_context&.partition}>"

    # @api private
    attr_writer :penstock_context

    # @api private
    # @return [Integer, nil] records of its partition that aren't complete now; nil if unknown. Any thread
    def penstock_lag = @penstock_context&.lane&.then { |lane| lane.ledger.incomplete_below(lane.log_end) }

    private

    # A consumer whose route has a dead letter topic has this method.
    def method_missing(name, *)
      return super unless name == :dispatch_to_dlq

      raise NoMethodError, "dispatch_to_dlq needs a dead letter topic: add `dead_letter_queue topic: " \
        "\"#{topic.name}.dead\"` to the route of #{topic.name}", caller
    end

    # A method that only raises an error doesn't count as existing.
    def respond_to_missing?(name, all = false) = super

    def penstock_marking_each(iterator) = Consumer::MarkingEach.new(self, iterator, @penstock_context)

    def penstock_piped(message, target)
      Consumer::Pipe.call(message, topic: target, group: topic.consumer_group_id) do |piped|
        enhance_pipe_message(piped, message) if respond_to?(:enhance_pipe_message, true)
      end
    end
  end
end
