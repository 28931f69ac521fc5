# frozen_string_literal: true

require_relative "../config/types"
require_relative "../nearest"
require_relative "../printable"

module Penstock
  module ActiveJob
    # How the jobs of a class are enqueued: the values of `penstock_options`. Frozen; a subclass has a copy with its changes.
    class Options
      # @api private
      Types = Penstock::Config::Types

      # By Karafka's names, which are accepted too.
      ALIASES = {partitioner: :partition_by, dispatch_method: :enqueue, dispatch_many_method: :enqueue_many}.freeze
      WORDS = {"produce_sync" => "sync", "produce_async" => "async", "produce_many_sync" => "sync",
               "produce_many_async" => "async"}.freeze
      # Options of other adapters that this one doesn't have, with what to do instead.
      UNIQUE = "jobs can't be unique: Kafka has no look-up by value. Let a unique index of the database refuse the second run"
      REFUSED = {
        unique: UNIQUE, unique_for: UNIQUE, unique_by: UNIQUE,
        priority: "jobs have no priority of their own: a partition is read in its order. Give the queue one: " \
          "active_job_topic(:mailers) { workers priority: 10 }",
        concurrency: "jobs of a key run one after another with `order: :key` in the route and `partition_by:` here; more than " \
          "one at a time isn't supported",
        scheduled_messages_topic: "delayed jobs need no topic here: active_job_topic draws those it needs",
        queue: "write queue_as :name"
      }.freeze
      private_constant :ALIASES, :WORDS, :REFUSED, :UNIQUE

      # `sync` waits for the broker's acknowledgement, `async` doesn't, `outbox` writes into the database's transaction.
      class Way
        ALLOWED = %w[sync async outbox].freeze

        def coerce(value)
          word = value.to_s if value.is_a?(Symbol) || value.is_a?(String)
          word = WORDS.fetch(word, word)
          ALLOWED.include?(word) ? word.to_sym : Types::INVALID
        end

        def to_s = ":sync, :async or :outbox"
      end
      private_constant :Way

      TYPES = {
        enqueue: Way.new, enqueue_many: Types::Either.new(Way.new, nil_allowed: true), partition_by: Types::Responding.new(:call),
        partition_key_type: Types::Word.new("key", "partition_key", "partition"), producer: Types::Responding.new(:call)
      }.freeze
      private_constant :TYPES

      # @return [:sync, :async, :outbox]
      attr_reader :enqueue
      # @return [#call, nil] returns a job's key: jobs of a key go to one partition
      attr_reader :partition_by
      # @return [:key, :partition_key, :partition] what the result of {partition_by} is
      attr_reader :partition_key_type
      # @return [#call, nil] returns the producer of a job
      attr_reader :producer

      def initialize(enqueue: :sync, enqueue_many: nil, partition_by: nil, partition_key_type: "key", producer: nil)
        @enqueue = enqueue
        @enqueue_many = enqueue_many
        @partition_by = partition_by
        @partition_key_type = partition_key_type.to_sym
        @producer = producer
        freeze
      end

      # @return [:sync, :async, :outbox] for `perform_all_later`
      def enqueue_many = @enqueue_many || @enqueue

      # @param job_class [String] for errors
      # @param changes [Hash{Symbol => Object}]
      # @return [Options] a copy
      # @raise [ArgumentError] with everything that is wrong
      def merge(job_class, changes)
        problems = []
        read = changes.each_with_object({}) do |(given, value), all|
          name = ALIASES.fetch(given, given)
          next problems << unknown(given) unless TYPES.key?(name)
          typed = TYPES.fetch(name).coerce(value)
          Types.invalid?(typed) ? problems << wrong(given, name, value) : all[name] = typed
        end
        raise ArgumentError, "penstock_options of #{job_class}: #{problems.join("; ")}" if problems.any?
        self.class.new(**to_h, **read)
      end

      # @return [Hash{Symbol => Object}]
      def to_h
        {enqueue: @enqueue, enqueue_many: @enqueue_many, partition_by: @partition_by, partition_key_type: @partition_key_type,
         producer: @producer}
      end

      # Without options.
      DEFAULT = new

      private

      def unknown(name)
        why = REFUSED[name] || Nearest.hint(name, TYPES.keys) || "there are #{TYPES.keys.join(", ")}"
        "there is no option #{name.inspect}. #{why}"
      end

      def wrong(given, name, value)
        "#{given} must be #{TYPES.fetch(name)}, is #{Printable.inspect(value, 80)}"
      end
    end
  end
end
