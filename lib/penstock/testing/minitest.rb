# frozen_string_literal: true

require_relative "kit"
require_relative "matchers/of_consumer"
require_relative "matchers/of_run"
require_relative "matchers/produced"
require_relative "shared_cluster"

module Penstock
  module Testing
    # The testing kit for Minitest, also for `ActiveSupport::TestCase` and `Minitest::Spec`.
    #
    #     require "penstock/testing/minitest"
    #
    #     class OrdersConsumerTest < ActiveSupport::TestCase
    #       include Penstock::Testing::Minitest
    #
    #       test "an order becomes an invoice" do
    #         consumer = penstock.consumer_for(:orders)
    #         penstock.produce({total: 12}.to_json, key: "42")
    #         consumer.consume
    #         assert_produced "invoices", key: "42"
    #       end
    #     end
    #
    # Each test has a {Kit} of its own, from before its `setup` until after its `teardown`. A test class may define
    # `penstock_application`, if there are several, and `penstock_producers`, other producers whose messages are kept too.
    module Minitest
      # @return [Kit]
      attr_reader :penstock

      # @api private
      def before_setup
        @penstock = Kit.new(self).open
        super
      end

      # @api private
      def after_teardown
        super
      ensure
        @penstock&.close
      end

      # Fails unless the code under test has produced such a message.
      # @param topic [String, Symbol, #===]
      # @param expected [Hash] `key:`, `payload:`, `headers:`, `partition:`, `count:`, see {Matchers::Produced}
      # @yield if given, only what the block produces counts
      # @return [Kit::ProducedMessage, nil] the first that matches
      def assert_produced(topic = Matchers::Values::ANY, **expected, &block)
        penstock_assert(Matchers::Produced.new(penstock, topic, **expected), block || penstock).matching.first
      end

      # Fails if the code under test has produced such a message.
      # @param (see #assert_produced)
      # @yield (see #assert_produced)
      # @return [void]
      def refute_produced(topic = Matchers::Values::ANY, **expected, &block)
        penstock_refute(Matchers::Produced.new(penstock, topic, **expected), block || penstock)
      end

      # @!method assert_marked(consumer, offset, metadata:)
      #   Fails unless the consumer has marked the message at this offset, or a later one.
      #   @see Matchers::Marked
      # @!method refute_marked(consumer, offset, metadata:)
      #   @see Matchers::Marked
      # @!method assert_paused(consumer, offset, timeout:)
      #   Fails unless the consumer has paused its partition.
      #   @see Matchers::Paused
      # @!method refute_paused(consumer, offset, timeout:)
      #   @see Matchers::Paused
      # @!method assert_sought(consumer, target)
      #   Fails unless the consumer has continued at another offset.
      #   @see Matchers::Sought
      # @!method refute_sought(consumer, target)
      #   @see Matchers::Sought
      # @!method assert_dead_lettered(consumer, offset, topic:, reason:)
      #   Fails unless the consumer has dead-lettered the message itself, with `dispatch_to_dlq`.
      #   @see Matchers::DeadLettered
      # @!method refute_dead_lettered(consumer, offset, topic:, reason:)
      #   @see Matchers::DeadLettered
      {marked: Matchers::Marked, paused: Matchers::Paused, sought: Matchers::Sought,
       dead_lettered: Matchers::DeadLettered}.each do |name, matcher|
        define_method(:"assert_#{name}") do |consumer, *expected, **more|
          penstock_assert(penstock_matcher(matcher, consumer).new(penstock, *expected, **more), consumer)
        end
        define_method(:"refute_#{name}") do |consumer, *expected, **more|
          penstock_refute(penstock_matcher(matcher, consumer).new(penstock, *expected, **more), consumer)
        end
      end

      # @!method assert_consumed(run, topic, partition:, offset:, group:, attempts:)
      #   Fails unless the run of the whole application has given such a record to a consumer. `assert_dead_lettered` and
      #   `refute_dead_lettered` take a run too.
      #   @see Matchers::OfRun
      # @!method assert_retried(run, topic, partition:, offset:, group:, attempts:)
      #   @see Matchers::Retried
      # @!method assert_redelivered(run, topic, partition:, offset:, group:)
      #   @see Matchers::Redelivered
      # @!method assert_sent_to_retry_topic(run, topic, partition:, offset:, attempts:, to:)
      #   @see Matchers::SentToRetryTopic
      # @!method assert_waiting(run, topic, partition:, offset:, reason:)
      #   @see Matchers::Waiting
      # @!method assert_committed(run, topic, partition:, offset:, group:)
      #   @see Matchers::Committed
      {consumed: Matchers::ConsumedInRun, retried: Matchers::Retried, redelivered: Matchers::Redelivered,
       sent_to_retry_topic: Matchers::SentToRetryTopic, waiting: Matchers::Waiting,
       committed: Matchers::Committed}.each do |name, matcher|
        define_method(:"assert_#{name}") do |run, *expected, **more|
          penstock_assert(matcher.new(penstock, *expected, **more), run)
        end
        define_method(:"refute_#{name}") do |run, *expected, **more|
          penstock_refute(matcher.new(penstock, *expected, **more), run)
        end
      end

      private

      # Runs and consumers share an assertion.
      def penstock_matcher(matcher, actual)
        (matcher == Matchers::DeadLettered && actual.respond_to?(:dead_lettered)) ? Matchers::DeadLetteredInRun : matcher
      end

      def penstock_assert(matcher, actual)
        assert matcher.matches?(actual), -> { matcher.failure_message }
        matcher
      end

      # In `Minitest::Spec` the subject may be the consumer.
      def penstock_subject = (subject if respond_to?(:subject))

      def penstock_refute(matcher, actual)
        refute matcher.matches?(actual), -> { matcher.failure_message_when_negated }
      end
    end
  end
end
