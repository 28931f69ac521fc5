# frozen_string_literal: true

require_relative "../compat/karafka/consumer"
require_relative "context"
require_relative "marking_each"
require_relative "pipe"

module Penstock
  # What an application's consumers inherit from: override {#consume}, and the hooks you need.
  #
  #     class OrdersConsumer < Penstock::BaseConsumer
  #       def consume
  #         messages.each { |message| Billing.charge(message.payload) }
  #       end
  #     end
  #
  # One instance serves one partition for as long as this process owns it, made when the first records arrive. It is never run
  # by two threads at once, but not always by the same one: keep state in instance variables, not in `Thread.current`. All
  # instance variables are yours, but for `@penstock_context`.
  class BaseConsumer
    include Compat::Karafka::Consumer

    # @!group Override these

    # Called with the records at hand in {#messages}. Without an error all of them are complete afterwards (automatic offsets).
    # @return [void]
    def consume
      raise NotImplementedError, "#{self.class} doesn't define consume: implement it to process messages"
    end

    # Called once, before the first {#consume}. Errors are reported and don't stop the consumer.
    # @return [void]
    def initialized
    end

    # Called when the partition is given up; marks still count unless it was lost ({#revoked?} is true and they answer false).
    # @return [void]
    def revoked
    end

    # Called when the process stops, after the last job.
    # @return [void]
    def shutdown
    end

    # Called at the end of the partition when no new records came with it; the route says `eofed true`.
    # @return [void]
    def eofed
    end

    # Called each interval in which the partition had nothing to do, with or without messages; the route says `periodic`. Never
    # beside {#consume}. Errors are reported and not retried.
    # @return [void]
    def tick
    end

    # Around every call of user code of this consumer; must yield.
    # @param _action [Symbol] :consume, :revoked, :shutdown, :eofed or :tick
    def wrap(_action)
      yield
    end

    # @!endgroup

    # @return [Messages] the records of this call; empty in hooks
    def messages = @penstock_context.messages

    # @return [String] id of this instance, for logs
    def id = @penstock_id ||= format("%012x", object_id)

    # @return [Routing::Topic] the route this consumer serves
    def topic = @penstock_context.topic

    # @return [Integer]
    def partition = @penstock_context.partition

    # @return [Producer] the application's producer; in {#transaction} that of the transaction
    def producer = @penstock_context.producer

    # From now on this consumer uses another one, for its dead letters too; nil: the application's again.
    # @param producer [Producer, nil]
    def producer=(producer)
      @penstock_context.producer = producer
    end

    # @return [Consumer::ErrorsTracker] the errors since the last success
    def errors_tracker = @penstock_context.errors

    # @return [Consumer::Tags]
    def tags = @penstock_context.tags

    # @return [Integer] 1 on the first try of a record
    def attempt = @penstock_context.attempt

    # @return [Boolean] whether this is not the first try
    def retrying? = attempt > 1

    # @return [Boolean] whether {#consume} was called before or is being called
    def used? = @penstock_context.used?

    # @return [Boolean] whether the end of the partition was seen: behind these messages, or without any
    def eofed? = @penstock_context.eofed?

    # @return [Boolean] whether the partition is being taken away or is gone; flips while {#consume} runs
    def revoked? = @penstock_context.marks.leaving?

    # @return [Boolean] whether the process stops or the partition is being taken away: long loops should end
    def stopping? = revoked? || @penstock_context.link.stopping?

    # Iterates the messages; an error is blamed on the one at hand. With `adaptive_iterator` in the route it marks them too.
    # @yieldparam message [Message]
    def each(&block)
      iterator = topic.features[:adaptive_iterator]
      (iterator && block) ? Consumer::MarkingEach.new(self, iterator).call(messages, &block) : messages.each(&block)
    end

    # Marks the message and everything before it in the partition as complete. One write, no I/O.
    # @param message [Message] a message of this partition
    # @param metadata [String, nil] offset metadata for the next commit, at most 1,024 bytes
    # @return [Boolean] false when the partition is no longer ours: stop, its next owner has taken over
    def mark_as_consumed(message, metadata = nil) = @penstock_context.mark(message, metadata)

    # As {#mark_as_consumed}, and waits until the broker has acknowledged the commit.
    # @return [Boolean] false when the partition is no longer ours, or goes on elsewhere: the mark may be lost
    def mark_as_consumed!(message, metadata = nil) = @penstock_context.mark!(message, metadata)

    # What the block produces (by the consumer's or the producer's methods) and marks becomes true together, or nothing of it. The
    # producer needs a `transactional.id`. What the block raises aborts it and is raised again, but for {AbortTransaction}.
    #
    # @param producer [Producer, #with, nil] another one than {#producer}, which it is in the block, or a pool of them
    # @yieldparam transaction [Producer::Transaction]
    # @return [Object, nil] what the block returns; nil when it was left by {AbortTransaction}
    # @raise [AssignmentLostError] something was marked and the partition is no longer ours: aborted
    # @raise [TransactionDeferredError] the offset of what was marked could not go along: aborted, runs again
    # @raise [TransactionAlreadyInitializedError] inside of another one of this consumer
    # @raise [ProducerNotTransactionalError, KafkaError, WaitTimeoutError] see {Producer#transaction}
    def transaction(producer = nil, &) = @penstock_context.transaction(producer, &)

    # Commits what is marked or complete.
    # @param async [Boolean] don't wait
    # @return [Boolean] false when the partition is no longer ours
    def commit_offsets(async: true) = async ? @penstock_context.commit_soon : @penstock_context.commit

    # Commits and waits for the acknowledgement.
    # @return [Boolean] as of {#mark_as_consumed!}
    def commit_offsets! = @penstock_context.commit

    # Goes on at another place. Takes effect when {#consume} has returned; only what it marked is complete.
    # @param target [Integer, Time, :earliest, :latest] :latest waits for the next new record
    # @param reset_offset [Boolean] accepted for callers written for Karafka; a seek always sets the committed offset
    # @raise [InvalidTimeBasedOffsetError] when there is no record at or after the time
    # @raise [ArgumentError] for any other target; offsets aren't negative
    def seek(target, reset_offset: true) = @penstock_context.seek(target)

    # Holds the partition after {#consume} has returned.
    # @param offset [Integer, :consecutive] where it goes on; :consecutive: behind this call's records
    # @param timeout [Numeric, nil] ms; nil: until {#resume}
    # @raise [ArgumentError] for any other offset or timeout
    def pause(offset = :consecutive, timeout = nil) = @penstock_context.pause(offset, timeout)

    # Lifts the hold of {#pause}.
    def resume = @penstock_context.resume

    # Where records run side by side: from now on one by one, in the partition's order, until the one at the offset is done with.
    # What runs already ends first. Of several requests the highest counts.
    # @param offset [Integer]
    def collapse_until!(offset) = @penstock_context.collapse_until(offset)

    # @return [Boolean] whether this call is one of those that {#collapse_until!} asked for
    def collapsed? = @penstock_context.collapsed?

    # Stores metadata that goes with the next commit, whatever moves the offset.
    # @param metadata [String] at most 1,024 bytes
    # @return [Boolean] whether the partition is still ours
    # @raise [ArgumentError] for anything else
    def store_offset_metadata(metadata) = @penstock_context.store_metadata(metadata)

    # @return [Object, nil, false] offset metadata committed with this partition, by us or the owner before: a String, or what
    #   the route's `offset_metadata deserializer:` makes of it; false when the partition is no longer ours
    def offset_metadata
      marks = @penstock_context.marks
      return false unless marks.owned?
      metadata = marks.metadata || @penstock_context.lane.adopted_metadata
      reader = topic.features[:offset_metadata]
      reader ? reader.read(metadata) : metadata
    end

    # The client's statistics of this partition (`hi_offset`, `consumer_lag_stored`, …), made anew each `statistics.interval.ms`,
    # also while {#consume} runs. The route says `inline_insights`; in processes of a pool there are none.
    # @return [Hash{String => Object}] empty before there are any
    def insights = @penstock_context.insights
    alias_method :statistics, :insights
    alias_method :inline_insights, :insights

    # @return [Boolean] whether there are statistics
    def insights? = !insights.empty?

    # Runs the block while no other instance of this partition is in such a block: where keys run side by side, for what they
    # share. May be nested. Without `parallel` nothing runs beside it anyway.
    # @yieldreturn [Object]
    # @return [Object] what the block answers
    def synchronize(&) = @penstock_context.synchronize(&)

    %i[produce_async produce_sync produce_many_async produce_many_sync].each do |name|
      # As the method of the same name of the producer.
      define_method(name) { |*args, **options| producer.public_send(name, *args, **options) }
    end

    # @!method pipe_sync(topic:, message:)
    #   Sends a message on to another topic: its bytes, key and headers as they are, and `source_topic`, `source_partition`,
    #   `source_offset` and `source_consumer_group`. One without key goes where all without key of its partition go. What is
    #   sent may be changed by `enhance_pipe_message(hash, message)`. In {#transaction} it is part of it.
    #   @param topic [String, Symbol]
    #   @param message [Message]
    #   @return [Producer::Delivery::Report] see {Producer#produce_sync}
    # @!method pipe_async(topic:, message:)
    #   As {#pipe_sync}.
    #   @return [Producer::Delivery::Handle] see {Producer#produce_async}
    %i[sync async].each do |way|
      define_method(:"pipe_#{way}") do |topic:, message:|
        producer.public_send(:"produce_#{way}", penstock_piped(message, topic))
      end

      # As `pipe_sync` and `pipe_async`, for many: `topic:` and `messages:`.
      define_method(:"pipe_many_#{way}") do |topic:, messages:|
        producer.public_send(:"produce_many_#{way}", messages.map { |message| penstock_piped(message, topic) })
      end
    end

    # @return [String] short: class, topic, partition
    def inspect = "#<#{self.class} #{@penstock_context&.lane&.topic_name}/#{@penstock_context&.partition}>"

    # @api private
    attr_writer :penstock_context

    private

    def penstock_piped(message, target)
      Consumer::Pipe.call(message, topic: target, group: topic.consumer_group_id) do |piped|
        enhance_pipe_message(piped, message) if respond_to?(:enhance_pipe_message, true)
      end
    end
  end
end
