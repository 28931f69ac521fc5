# frozen_string_literal: true

require_relative "../config/tolerant_block"
require_relative "composition"
require_relative "draft"
require_relative "dsl/draw"
require_relative "dsl/session"
require_relative "features"

module Penstock
  module Routing
    # Collects the drawings of an application's `routes` and builds {Routes} from them. Used by one thread at boot.
    #
    #     routes.draw { topic(:orders) { consumer OrdersConsumer } }
    class Builder
      # @param features [Array<Feature>] the available options of topics
      # @param delay_consumer [Class, nil] the consumer of `delay_topics`
      def initialize(features: Features.core, delay_consumer: nil)
        @features = features
        @delay_consumer = delay_consumer
        @drafts = []
        @notes = {}
      end

      # Adds topics to those drawn before. A group that is opened again gets more topics.
      #
      # @return [self]
      def draw(&block)
        @drafts << Config::TolerantBlock.new.run do |tolerant_block|
          notes = @notes.dup # a block with a mistake runs again from the start
          draft = Draft.new
          Dsl::Draw.new(Dsl::Session.new(draft, @features, tolerant_block, notes)).fill(block)
          @notes = notes
          draft
        end
        self
      end

      # Discards the drawings and draws again.
      #
      # @return [self]
      def redraw(&block)
        clear
        draw(&block)
      end

      # @return [self]
      def clear
        @drafts.clear
        @notes = {}
        self
      end

      # @return [Boolean] whether anything was drawn
      def drawn?
        @drafts.any?
      end

      # @param settings [Config::Settings] values for options that topics don't set
      # @param declared [Array<String>] topics that are declared elsewhere, for `strict_declarative_topics`
      # @return [Routes] frozen, including its problems
      def routes(settings, declared: [])
        Composition.new(@drafts, settings, @features, delay_consumer: @delay_consumer, declared: declared).routes
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@drafts.size} drawings>"

      private

      # This object is only written to; code that reads routes as a list of groups is pointed to the right methods.
      def method_missing(name, *)
        return super unless name == :each || Enumerable.method_defined?(name)

        raise NoMethodError, "routes are drawn here (draw, redraw, clear), so there is no #{name}: use " \
          "PenstockApp.consumer_groups or subscription_groups to read the routes", caller
      end

      # {method_missing} only raises, so no further methods exist.
      def respond_to_missing?(name, all = false) = super
    end
  end
end
