# frozen_string_literal: true

begin
  require "rspec/core"
  require "rspec/expectations"
rescue LoadError => error
  raise error unless error.path.to_s.start_with?("rspec")
  raise LoadError, "the testing kit for RSpec needs RSpec: add `gem \"rspec\"` to the group :test of the Gemfile"
end
require_relative "../on_demand"
require_relative "kit"
require_relative "matchers/of_consumer"
require_relative "matchers/of_run"
require_relative "matchers/produced"
require_relative "shared_cluster"
Penstock.load_constant :BaseConsumer

module Penstock
  module Testing
    module Matchers
      class Matcher # `and`, `or`, and as an argument of other matchers
        include ::RSpec::Matchers::Composable
      end
    end

    # The testing kit for RSpec.
    #
    #     require "penstock/testing/rspec"
    #
    #     RSpec.configure { |config| config.include Penstock::Testing::RSpec }
    #
    #     RSpec.describe OrdersConsumer do
    #       subject(:consumer) { penstock.consumer_for(:orders) }
    #
    #       it "makes an invoice of an order" do
    #         penstock.produce({total: 12}.to_json, key: "42")
    #         consumer.consume
    #         expect(penstock).to have_produced("invoices", key: "42", payload: a_hash_including("total" => 12))
    #       end
    #     end
    #
    # Each example has a {Kit} of its own, around its hooks. An example group may define `penstock_application`, if there are
    # several, and `penstock_producers`, other producers whose messages are kept too; with `let` or `def`.
    module RSpec
      # Keeps messages of `before(:context)` and the like from Kafka too: they are dropped.
      module OutsideOfExamples
        class << self
          # @return [void]
          def hold
            @kit = Kit.new.open if (@depth = (@depth || 0) + 1) == 1
            Kit::Examples.end(@kit)
          end

          # @return [void]
          def release
            @kit&.close if (@depth -= 1).zero?
          end
        end
      end

      # @param group [Class] example group
      # @api private
      def self.included(group)
        super
        group.prepend_before(:context) { OutsideOfExamples.hold }
        group.append_after(:context) { OutsideOfExamples.release }
        group.around { |example| penstock_around(example) }
      end

      # @return [Kit]
      attr_reader :penstock

      # @param topic [String, Symbol, #===]
      # @param expected [Hash] `key:`, `payload:`, `headers:`, `partition:`, `count:`
      # @return [Matchers::Produced] for `expect(penstock)` and `expect { … }`
      def have_produced(topic = Matchers::Values::ANY, **expected) = Matchers::Produced.new(penstock, topic, **expected)

      # @!method have_marked(offset, metadata:)
      #   @return [Matchers::Marked] for `expect(consumer)`
      # @!method have_paused(offset, timeout:)
      #   @return [Matchers::Paused] for `expect(consumer)`
      # @!method have_sought(target)
      #   @return [Matchers::Sought] for `expect(consumer)`
      {have_marked: Matchers::Marked, have_paused: Matchers::Paused, have_sought: Matchers::Sought}.each do |name, matcher|
        define_method(name) { |*expected, **more| matcher.new(penstock, *expected, **more) }
      end

      # @overload have_dead_lettered(offset, topic:, reason:)
      #   @return [Matchers::DeadLettered] for `expect(consumer)`
      # @overload have_dead_lettered(topic, partition:, offset:, attempts:, to:)
      #   @return [Matchers::DeadLetteredInRun] for `expect(run)`
      def have_dead_lettered(...) = Matchers::DeadLetteredAnywhere.new(penstock, ...)

      # @!method have_consumed(topic, partition:, offset:, group:, attempts:)
      #   @return [Matchers::ConsumedInRun] for `expect(run)`; `.after(2).attempts`
      # @!method have_retried(topic, partition:, offset:, group:, attempts:)
      #   @return [Matchers::Retried] for `expect(run)`
      # @!method have_redelivered(topic, partition:, offset:, group:)
      #   @return [Matchers::Redelivered] for `expect(run)`
      # @!method have_sent_to_retry_topic(topic, partition:, offset:, attempts:, to:)
      #   @return [Matchers::SentToRetryTopic] for `expect(run)`
      # @!method have_waiting(topic, partition:, offset:, reason:)
      #   @return [Matchers::Waiting] for `expect(run)`
      # @!method have_committed(topic, partition:, offset:, group:)
      #   @return [Matchers::Committed] for `expect(run)`
      {have_consumed: Matchers::ConsumedInRun, have_retried: Matchers::Retried, have_redelivered: Matchers::Redelivered,
       have_sent_to_retry_topic: Matchers::SentToRetryTopic, have_waiting: Matchers::Waiting,
       have_committed: Matchers::Committed}.each do |name, matcher|
        define_method(name) { |*expected, **more| matcher.new(penstock, *expected, **more) }
      end

      private

      # The module may be included more than once: in RSpec's configuration, and in a group.
      def penstock_around(example)
        return example.run if @penstock

        begin
          @penstock = Kit.new(self).open
          example.run
        ensure
          @penstock&.close
        end
      end

      # The subject of a group may be its consumer, without a name. Others aren't created here.
      def penstock_subject
        subject if described_class.nil? || (described_class.is_a?(Class) && described_class <= BaseConsumer)
      end
    end
  end
end
