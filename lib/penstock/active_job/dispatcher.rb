# frozen_string_literal: true

require "json"
require_relative "../errors"
require_relative "later"
require_relative "running"

module Penstock
  module ActiveJob
    # Turns jobs into messages and produces them. Any thread; stateless but for the warnings that were already given.
    class Dispatcher
      # @param producer [#call] returns the producer of jobs whose class doesn't name one
      # @param outbox [#call] writes messages into the database: takes their Array, returns the ids of their rows
      # @param log [#call] returns a logger, or nil
      def initialize(producer:, outbox:, log:)
        @producer = producer
        @outbox = outbox
        @log = log
        @warned = {}
      end

      # @param job [::ActiveJob::Base]
      # @param at [Float, nil] seconds since 1970
      # @return [void]
      # @raise [ProduceError] the broker hasn't acknowledged it; or, asynchronously, the client didn't take it
      # @raise [MessageInvalidError, ::ActiveJob::SerializationError] it can't be sent
      def one(job, at = nil)
        options = job.class.penstock_job_options
        message = message(job, options, at)
        explained([job]) { job.provider_job_id = send_one(job, message, options) }
      end

      # Sends all of a kind together. Nothing is sent if a job can't be serialized.
      # @param jobs [Array<::ActiveJob::Base>]
      # @return [Integer] how many were enqueued
      # @raise [ProduceError] the first error, after all were tried; each job knows its own outcome
      def many(jobs)
        groups = none_on_error(jobs) { grouped(jobs) }
        errors = groups.filter_map { |(way, producer), (some, messages)| failure_of(way, producer, some, messages) }
        raise errors.first if errors.any?
        jobs.size
      end

      private

      def send_one(job, message, options)
        case Running.of(job) ? retried(options.enqueue) : options.enqueue
        when :sync then uid(present(producer_of(job, options), job).produce_sync(message))
        when :async
          present(producer_of(job, options), job).produce_async(message)
          nil
        when :outbox then "outbox/#{@outbox.call([message]).first}"
        end
      end

      # A job that `retry_on` enqueues again, while its record is about to be completed, must be stored before.
      def retried(way) = (way == :async) ? :sync : way

      def producer_of(job, options) = options.producer ? options.producer.call(job) : @producer.call

      # @raise [ConfigurationError]
      def present(producer, job)
        return producer unless producer.nil?
        raise ConfigurationError.new([Problem.new("penstock_options of #{job.class.name}, producer", "returned no producer for " \
          "the job, but nil", "Let it return one for each job, for example Penstock.producer")])
      end

      def uid(report) = "#{report.topic}/#{report.partition}/#{report.offset}"

      # -- messages --

      def message(job, options, at)
        warn_of_priority(job) if job.priority
        message = {topic: job.queue_name, payload: payload(job)}
        place(message, job, options) if options.partition_by
        (at && at > Time.now.to_f) ? Later.scheduler.call(message.freeze, (at * 1_000).ceil) : message
      end

      def payload(job)
        data = job.serialize
        data["provider_job_id"] = nil # of the record that is performed now, if this is a retry
        JSON.generate(data)
      rescue JSON::JSONError, EncodingError => error
        raise ::ActiveJob::SerializationError, "#{job.class.name} can't be enqueued: its data can't be written as JSON " \
          "(#{error.message}). Pass text as valid UTF-8, binary data in Base64, and no NaN or Infinity"
      end

      # A job that is enqueued again keeps its place: its arguments may be what can't be read.
      def place(message, job, options)
        running = Running.of(job)&.message
        again = running if running&.topic == message[:topic]
        return message[:key] = again.raw_key if again && options.partition_key_type == :key
        return message[:partition] = again.partition if again
        value = value_of(job, options, running)
        message[options.partition_key_type] = (options.partition_key_type == :partition) ? value : value&.to_s
        message.compact!
      end

      # In another queue, or after a retry topic, the key counts: the arguments of a job that can't be read aren't there.
      def value_of(job, options, running)
        options.partition_by.call(job)
      rescue => error
        raise error unless running && options.partition_key_type != :partition
        running.raw_key
      end

      # -- many --

      # Nothing is sent, and each job knows why.
      def none_on_error(jobs)
        yield
      rescue => error
        jobs.each { |job| job.enqueue_error = error }
        raise
      end

      # A job whose options are those of the one before it belongs to the same group, unless they choose a producer for each job.
      # @return [Hash{Array => Array(Array, Array)}] jobs and messages, by way and producer
      def grouped(jobs)
        groups = Hash.new { |hash, key| hash[key] = [[], []] }
        last = group = nil
        jobs.each do |job|
          options = job.class.penstock_job_options
          job.successfully_enqueued = false
          group = groups[group_of(job, options)] unless options.equal?(last) && options.producer.nil?
          last = options
          some, messages = group
          some << job
          messages << message(job, options, job.scheduled_at&.to_f)
        end
        groups
      end

      # @return [Array(Symbol, Object)] way and producer
      def group_of(job, options)
        way = options.enqueue_many
        [way, (producer_of(job, options) unless way == :outbox)]
      end

      # @return [StandardError, nil]
      def failure_of(way, producer, jobs, messages)
        explained(jobs) { send_many(way, producer, jobs, messages) }
        nil
      rescue ProduceManyError => error
        settle(jobs, error.dispatched, error, way)
        error
      rescue => error
        jobs.each { |job| job.enqueue_error = error }
        error
      end

      def send_many(way, producer, jobs, messages)
        present(producer, jobs.first) unless way == :outbox
        case way
        when :sync then settle(jobs, producer.produce_many_sync(messages), nil, way)
        when :async
          producer.produce_many_async(messages, handle: false)
          jobs.each { |job| job.successfully_enqueued = true }
        when :outbox
          ids = @outbox.call(messages)
          jobs.each_with_index { |job, index| enqueued(job, "outbox/#{ids.fetch(index)}") }
        end
      end

      # @param handles [Array<Producer::Delivery::Handle>] of the first jobs; the others were not accepted
      def settle(jobs, handles, error, way)
        jobs.each_with_index do |job, index|
          handle = handles[index]
          next job.successfully_enqueued = true if handle && way == :async
          id = handle&.uid
          id ? enqueued(job, id) : job.enqueue_error = handle&.error || error
        end
      end

      def enqueued(job, id)
        job.provider_job_id = id
        job.successfully_enqueued = true
      end

      # -- messages for people --

      # Names the job's class and what its queue is here.
      def explained(jobs)
        yield
      rescue MessageInvalidError => error
        job = jobs[error.index || 0]
        raise error.class, "#{job.class.name} can't be enqueued in the queue #{job.queue_name.inspect[0, 80]}, which is a " \
          "topic here: #{error.message}"
      end

      def warn_of_priority(job)
        return if @warned[job.class.name]
        @warned[job.class.name] = true
        @log.call&.warn("#{job.class.name} has the priority #{job.priority}, which has no effect: a partition is read in its " \
          "order. Use a queue of its own, with `active_job_topic(:urgent) { workers priority: 10 }`")
      end
    end
  end
end
