# frozen_string_literal: true

require_relative "../config/tolerant_block"
require_relative "composition"
require_relative "draft"
require_relative "dsl/draw"
require_relative "dsl/session"
require_relative "features"

module Penstock
  module Routing
    # What `routes` of an application is: takes drawings and makes {Routes} of them. Used by one thread at boot.
    #
    #     routes.draw { topic(:orders) { consumer OrdersConsumer } }
    class Builder
      # @param features [Array<Feature>] what topics can be told
      def initialize(features: Features.core)
        @features = features
        @drafts = []
      end

      # Adds topics to those drawn before. A group that is opened again gets more topics.
      #
      # @return [self]
      def draw(&block)
        @drafts << Config::TolerantBlock.new.run do |tolerant_block|
          Draft.new.tap { |draft| Dsl::Draw.new(Dsl::Session.new(draft, @features, tolerant_block)).fill(block) }
        end
        self
      end

      # Forgets what was drawn and draws anew.
      #
      # @return [self]
      def redraw(&block)
        clear
        draw(&block)
      end

      # @return [self]
      def clear
        @drafts.clear
        self
      end

      # @return [Boolean] whether anything was drawn
      def drawn?
        @drafts.any?
      end

      # @param settings [Config::Settings] for what topics don't say
      # @return [Routes] frozen, with its problems
      def routes(settings)
        Composition.new(@drafts, settings, @features).routes
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@drafts.size} drawings>"

      private

      # It is written to; what reads routes as a list of groups finds them elsewhere.
      def method_missing(name, *)
        return super unless name == :each || Enumerable.method_defined?(name)

        raise NoMethodError, "routes are drawn here (draw, redraw, clear), so there is no #{name}: PenstockApp.consumer_groups " \
          "and subscription_groups answer what came of it", caller
      end

      # What is only refused isn't there.
      def respond_to_missing?(name, all = false) = super
    end
  end
end
