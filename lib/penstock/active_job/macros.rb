# frozen_string_literal: true

require_relative "../config/types"
require_relative "../on_demand"
require_relative "../routing/features/dead_letter_queue"
require_relative "../routing/macro"
Penstock.load_constant :ActiveJob

module Penstock
  module ActiveJob
    # Verbs: `active_job_topic :default`, `active_job_pattern(/jobs\..*/, dead: "dead.jobs")`, `active_job_delays false`.
    module Macros
      # @api private
      Types = Penstock::Config::Types
      # @api private
      Option = Penstock::Routing::Feature::Option

      # Stands for the dead letter topic that is named after the queue.
      NAMED_AFTER = Object.new.freeze
      # Draws what `dead:` and `max_retries:` are without, if the topic's block has one of these.
      OTHER_FAILURES = %i[dead_letter_queue retry_topics].freeze
      RETRIES = 3
      # A queue has jobs of many kinds, which need different systems, but all need the application's database.
      DATABASE_ERRORS = %w[ActiveRecord::ConnectionNotEstablished ActiveRecord::ConnectionFailed ActiveRecord::ConnectionTimeoutError
        PG::ConnectionBad Mysql2::Error::ConnectionError Trilogy::ConnectionError Sequel::DatabaseConnectionError
        Sequel::DatabaseDisconnectError Sequel::PoolTimeout].freeze
      # Of the jobs that fail alike, before they hold up others.
      FAILING_SHARE = 0.8
      DEAD = Penstock::Routing::Features::DeadLetterQueue::Destination.new
      private_constant :NAMED_AFTER, :OTHER_FAILURES, :RETRIES, :DATABASE_ERRORS, :FAILING_SHARE, :DEAD

      # A regular expression.
      class Expression
        def coerce(value) = value.is_a?(Regexp) ? value : Types::INVALID
        def to_s = "a regular expression"
      end
      private_constant :Expression

      COMMON = {
        order: Option.new(Types::Word.new("key", "queue", "message"), nil),
        max_retries: Option.new(Types::Whole.new(min: 0), nil)
      }.freeze
      private_constant :COMMON

      class << self
        # @return [void]
        def register
          Penstock::Routing::Macro.register(topic)
          Penstock::Routing::Macro.register(pattern)
          Penstock::Routing::Macro.register(delays)
        end

        private

        def topic
          options = {name: Option.new(Types::Name.new, Penstock::Routing::Feature::REQUIRED), **COMMON,
                     dead: Option.new(DEAD, NAMED_AFTER)}
          Penstock::Routing::Macro.new(:active_job_topic, positional: :name, options: options,
            description: "A queue of Active Job: draws its topic, with Rails' queue name prefix. `order`: jobs of a key, or " \
              "all of a partition, run one after another. [More](active_job.md).") do |level, block, name:, **given|
            queue = ::ActiveJob::Base.queue_name_from_part(name)
            level.topic(queue) { |route| complete(level, route, queue, block, **given) }
            draw_delays(level)
          end
        end

        def pattern
          options = {regexp: Option.new(Expression.new, Penstock::Routing::Feature::REQUIRED),
                     name: Option.new(Types::Name.new, nil), **COMMON, dead: Option.new(DEAD, Penstock::Routing::Feature::REQUIRED)}
          Penstock::Routing::Macro.new(:active_job_pattern, positional: :regexp, options: options,
            description: "All queues of Active Job whose topics match.") do |level, block, regexp:, name:, **given|
            draw = ->(route) { complete(level, route, name, block, **given) }
            name ? level.pattern(name, regexp, &draw) : level.pattern(regexp, &draw)
            draw_delays(level)
          end
        end

        def delays
          options = {value: Option.new(Types::Flag.new, true)}
          text = "Whether jobs may wait (`wait`, `wait_until`, `retry_on wait:`); false draws no topics for it."
          Penstock::Routing::Macro.new(:active_job_delays, positional: :value, options: options,
            description: text) do |level, _, value:|
            if level.notes[:active_job]
              level.problem("active_job_delays comes after an active_job_topic", "Write it before the first one")
            end
            level.notes[:active_job_delays] = value
            Later.enabled = value
          end
        end

        # The topic's block first: what it has set isn't set again.
        def complete(level, route, queue, block, order:, max_retries:, dead:)
          route.fill(block)
          given = route.given
          refusals(given, order, max_retries, dead).each { |message, hint| level.problem("queue #{queue} #{message}", hint) }
          route.consumer(Consumer) unless given.key?(:consumer)
          route.max_messages(1) unless given.key?(:max_messages)
          # Active Job would run each job in the executor itself, which reports the error of every attempt, without its place.
          route.rails_executor(true) unless given.key?(:rails_executor)
          readable(route)
          in_order(route, order)
          route.otherwise { breaker outage_errors: DATABASE_ERRORS, share: FAILING_SHARE }
          return if OTHER_FAILURES.any? { |verb| given.key?(verb) }
          dead = named_after(queue) if NAMED_AFTER.equal?(dead)
          route.dead_letter_queue(topic: dead, max_retries: max_retries || RETRIES)
        end

        # Also where `defaults` has something else for other topics: the adapter writes JSON, and a job's record is complete
        # after the job.
        def readable(route)
          route.manual_offset_management(false) unless route.given.key?(:manual_offset_management)
          json = Penstock::Serialization::Deserializers::DEFAULT.payload
          route.deserializers(payload: json) unless route.given.key?(:deserializers)
        end

        # A nil also overrides `defaults`.
        def in_order(route, order)
          return if route.given.key?(:parallel)
          return route.given[:parallel] = nil if order == "queue"
          route.parallel(by: order || "message")
        end

        # With the separator that the name has: Kafka warns if names mix dots and underscores.
        def named_after(queue) = [queue, "dead"].join(queue[/[._-]/] || ".")

        def refusals(given, order, max_retries, dead)
          [
            (OWN_CONSUMER unless given.dig(:consumer, :value).then { |type| type.nil? || type <= Consumer }),
            (ONE_EACH if given.dig(:max_messages, :value).to_i > 1),
            (MARKS if given[:manual_offset_management]&.fetch(:value, true)),
            (TWO_ORDERS if order && given[:parallel]),
            (TWO_FAILURES if (max_retries || !NAMED_AFTER.equal?(dead)) && given.key?(:dead_letter_queue)),
            (ONE_PARTITION if order == "queue" && given.dig(:config, :partitions).to_i > 1)
          ].compact
        end
      end

      OWN_CONSUMER = ["has a consumer that isn't one of jobs", "Remove it, or inherit it from " \
        "Penstock::ActiveJob::Consumer"].freeze
      ONE_EACH = ["runs one job per call, so that each is acknowledged alone", "Remove max_messages"].freeze
      MARKS = ["has manual offsets, with which nothing would mark its jobs", "Remove manual_offset_management"].freeze
      TWO_ORDERS = ["has order: and parallel, which set the same in two ways", "Remove one of them"].freeze
      TWO_FAILURES = ["has dead: or max_retries:, and dead_letter_queue", "Remove one of them"].freeze
      ONE_PARTITION = ["has order: :queue and several partitions, and jobs keep their order only within one",
        "Set partitions: 1, or use order: :key"].freeze
      private_constant :OWN_CONSUMER, :ONE_EACH, :MARKS, :TWO_ORDERS, :TWO_FAILURES, :ONE_PARTITION

      # Topics for delays are drawn with the first queue.
      def self.draw_delays(level)
        return if level.notes[:active_job]
        level.notes[:active_job] = true
        Later.scheduler.draw(level) unless level.notes[:active_job_delays] == false
      end
      private_class_method :draw_delays
    end

    Macros.register
  end
end
