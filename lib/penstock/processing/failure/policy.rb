# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../routing/features/breaker"
require_relative "../../routing/features/quarantine"
require_relative "../backoff"
require_relative "backoffs"
require_relative "error_names"

module Penstock
  module Processing
    # Decides what happens to records that fail: values and small state machines, all pure. Deciding is separate from acting:
    # deciders in `settlement/` turn the decisions into effects, `runtime/loop/work/dead_letters.rb` sends.
    module Failure
      # Combines all settings of a route about failures. A frozen value, one per topic, read by the loop and by workers.
      class Policy
        # Where a record is sent. `kind` is :dead_letter, :expired, or :retry, where it waits for `delay_ms`.
        Destination = Struct.new(:topic, :kind, :delay_ms)

        # @return [Routing::Breaker, nil]
        attr_reader :breaker
        # @return [Routing::Quarantine, nil]
        attr_reader :quarantine
        # @return [Backoffs]
        attr_reader :backoffs
        # @return [Routing::RetryTopics, nil]
        attr_reader :tiers
        # @return [Array<String>] the topic and its retry topics, also for one of the retry topics: they share a breaker
        attr_reader :family

        # @param topic [Routing::Topic]
        def initialize(topic)
          features = topic.features
          @queue = features[:dead_letter_queue]
          @queue = nil unless @queue&.active?
          @tiers = features[:retry_topics]&.of(topic.name)
          @family = (@tiers ? [@tiers.source, *@tiers.names] : [topic.name]).freeze
          @expired_topic = features[:expire_in]&.topic
          @isolate = features.fetch(:isolate, true)
          # With manual offsets a mark of a later record also completes a dead-lettered one before it, but only where records run
          # in order.
          @passed = topic.manual_offset_management? && features[:parallel].nil?
          @backoffs = Backoffs.new(topic.pause, features[:backoff_for] || [])
          @breaker = chosen(features[:breaker], Routing::Features::Breaker::DEFAULT, removes_records?)
          @outage_errors = @breaker&.outage_errors || Routing::Features::Breaker::OUTAGE_ERRORS
          @quarantine = chosen(features[:quarantine], Routing::Features::Quarantine::DEFAULT, !dead_letter_topic.nil?)
          freeze
        end

        # @return [Boolean] whether a failed record is ever dead-lettered or moved to a retry topic
        def removes_records? = !@queue.nil? || !@tiers.nil?

        # @param unreadable [Boolean] see {#unreadable?}
        # @return [Integer, nil] how often a record runs before it leaves the topic; nil: no limit, or a strategy decides
        def attempts(unreadable: false) = (max_retries(unreadable) + 1 if @queue && !strategy)

        # Whether the record can't be deserialized, and the route has a limit of its own for such records. If another system is
        # down, such as a schema registry, the record may be readable later: it is retried like any other.
        # @param error [Exception]
        # @param offset [Integer] of the record the error is attributed to
        def unreadable?(error, offset)
          return false unless (@tiers || @queue)&.unreadable
          own = ErrorNames.chain(error).find { |one| one.is_a?(DeserializationError) }
          !own.nil? && own.offset == offset && !ErrorNames.with_causes(error).intersect?(@outage_errors)
        end

        # @return [Boolean] whether all records of this topic have failed before
        def retry_topic? = @tiers&.delayed? || false

        # @return [Boolean] whether records run one by one after a failure, so that healthy records aren't run again with the
        #   failed one
        def isolate? = @isolate

        # @return [Boolean] whether a letter that is too large is sent without the parts that don't fit
        def reference? = (@tiers || @queue)&.reference? || false

        # @return [#call, nil] called at each failure, on the worker
        def strategy = @queue&.strategy

        # @return [String, nil] where dead records are sent unless a strategy names another topic
        def dead_letter_topic = @tiers ? @tiers.finally || nil : @queue&.topic_name

        # @return [Array<String>] topics that must exist
        def topics = [*@tiers&.names, dead_letter_topic, @expired_topic].compact.uniq

        # @return [Destination] of expired records, where the route sends them anywhere
        def expired_destination = Destination.new(@expired_topic, :expired)

        # @return [Boolean] whether the record counts as complete once its dead letter is acknowledged
        def complete?
          return true unless @queue
          setting = @queue.mark_after_dispatch
          setting.nil? ? !@passed : setting
        end

        # @return [Boolean] whether letter and offset are sent in one transaction, where the producer has transactions
        def in_transaction? = complete? && (@queue.nil? || @queue.transactional)

        # @return [Boolean] the same for expired records, which are complete with their letter's acknowledgement in every case
        def expired_in_transaction? = @queue.nil? || @queue.transactional

        # @return [Boolean] whether that is committed at once
        def commit_at_once? = @queue ? @queue.commit_at_once? : false

        # @param attempt [Integer] failures of the record, this one included
        # @param answer [Array(Symbol, String), nil] the strategy's answer, with the topic it named
        # @param unreadable [Boolean] see {#unreadable?}
        # @return [:retry, :skip, Destination]
        def after(attempt, answer = nil, unreadable: false)
          return tier(unreadable) if @tiers
          return :retry unless @queue

          action, topic = answer
          return action if action == :retry || action == :skip
          return :retry if action.nil? && (strategy || attempt <= max_retries(unreadable))

          topic ||= @queue.topic
          topic ? dead_letter(topic) : :skip
        end

        # @return [:skip, Destination] for a record that must not be retried
        def without_retries = dead_letter_topic ? dead_letter(dead_letter_topic) : :skip

        # @param outcome [Outcome]
        # @param rest [Messages] incomplete records of its unit
        # @return [Integer] offset of the record the failure counts for
        def blamed(outcome, rest)
          return outcome.blamed if isolate? || rest.empty?

          rest.first_offset
        end

        private

        def max_retries(unreadable) = (unreadable && @queue.unreadable) || @queue.max_retries

        def chosen(value, default, enabled) = value.nil? ? (default if enabled) : value || nil

        # If a strategy names no topic where none is known, the worker raises the error; here the record is retried, so nothing
        # is lost.
        def dead_letter(topic) = (topic == :strategy) ? :retry : Destination.new(topic, :dead_letter)

        def tier(unreadable)
          return without_retries if @tiers.last? || (unreadable && @tiers.tier >= @tiers.unreadable)

          Destination.new(@tiers.following, :retry, @tiers.delay_ms)
        end
      end
    end
  end
end
