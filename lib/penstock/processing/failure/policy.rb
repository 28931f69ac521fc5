# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../routing/features/breaker"
require_relative "../../routing/features/quarantine"
require_relative "../backoff"
require_relative "backoffs"

module Penstock
  module Processing
    # What becomes of records that fail: values and small state machines, all pure. What they decide is told apart from what
    # is done about it: deciders in `settlement/` turn it into effects, `runtime/dead_letters.rb` sends.
    module Failure
      # Everything a route says about failures, put together. A frozen value, one a topic, read by the loop and by workers.
      class Policy
        # Where a failed record goes. `kind` is :dead_letter or :retry, which waits there for `delay_ms`.
        Destination = Struct.new(:topic, :kind, :delay_ms)

        # @return [Routing::Breaker, nil]
        attr_reader :breaker
        # @return [Routing::Quarantine, nil]
        attr_reader :quarantine
        # @return [Backoffs]
        attr_reader :backoffs
        # @return [Routing::RetryTopics, nil]
        attr_reader :tiers
        # @return [Array<String>] the topic and its retry topics, be it one of those itself: they share a breaker
        attr_reader :family

        # @param topic [Routing::Topic]
        def initialize(topic)
          features = topic.features
          @queue = features[:dead_letter_queue]
          @queue = nil unless @queue&.active?
          @tiers = features[:retry_topics]&.of(topic.name)
          @family = (@tiers ? [@tiers.source, *@tiers.names] : [topic.name]).freeze
          @isolate = features.fetch(:isolate, true)
          # Behind a record that was put away a mark of a later one goes past it, but only where all is in one row.
          @passed = topic.manual_offset_management? && features[:parallel].nil?
          @backoffs = Backoffs.new(topic.pause, features[:backoff_for] || [])
          @breaker = chosen(features[:breaker], Routing::Features::Breaker::DEFAULT, gives_up?)
          @quarantine = chosen(features[:quarantine], Routing::Features::Quarantine::DEFAULT, !dead_letter_topic.nil?)
          freeze
        end

        # @return [Boolean] whether a failed record is ever put away
        def gives_up? = !@queue.nil? || !@tiers.nil?

        # @return [Boolean] whether all that comes here has failed before
        def retry_topic? = @tiers&.delayed? || false

        # @return [Boolean] whether healthy records behind a failed one are kept apart from it
        def isolate? = @isolate

        # @return [Boolean] whether a letter that is too large goes without what doesn't fit
        def reference? = (@tiers || @queue)&.reference? || false

        # @return [#call, nil] asked at each failure, on the worker
        def strategy = @queue&.strategy

        # @return [String, nil] where dead records go unless somebody says otherwise
        def dead_letter_topic = @tiers ? @tiers.finally || nil : @queue&.topic_name

        # @return [Array<String>] topics that have to be there
        def topics = [*@tiers&.names, dead_letter_topic].compact

        # @return [Boolean] whether the record counts as complete once its dead letter is acknowledged
        def complete?
          return true unless @queue
          said = @queue.mark_after_dispatch
          said.nil? ? !@passed : said
        end

        # @return [Boolean] whether letter and offset are one transaction, where the producer has them
        def together? = complete? && (@queue.nil? || @queue.transactional)

        # @return [Boolean] whether that is committed at once
        def commit_at_once? = @queue ? @queue.commit_at_once? : false

        # @param attempt [Integer] failures of the record, this one included
        # @param answer [Array(Symbol, String), nil] what the strategy said, with the topic it named
        # @return [:retry, :skip, Destination]
        def after(attempt, answer = nil)
          return tier if @tiers
          return :retry unless @queue

          action, topic = answer
          return action if action == :retry || action == :skip
          return :retry if action.nil? && (strategy || attempt <= @queue.max_retries)

          topic ||= @queue.topic
          topic ? dead_letter(topic) : :skip
        end

        # @return [:skip, Destination] for a record that isn't to be touched again
        def without_retries = dead_letter_topic ? dead_letter(dead_letter_topic) : :skip

        # @param outcome [Outcome]
        # @param rest [Messages] what of its unit isn't complete
        # @return [Integer] offset of the record the failure counts for
        def blamed(outcome, rest)
          return outcome.blamed if isolate? || rest.empty?

          rest.first_offset
        end

        private

        def chosen(said, default, on) = said.nil? ? (default if on) : said || nil

        # A strategy that names no topic where none is known is told so on the worker; here nothing is lost.
        def dead_letter(topic) = (topic == :strategy) ? :retry : Destination.new(topic, :dead_letter)

        def tier
          return without_retries if @tiers.last?

          Destination.new(@tiers.following, :retry, @tiers.delay_ms)
        end
      end
    end
  end
end
