# frozen_string_literal: true

require_relative "../errors"
require_relative "../routing/selection"

module Penstock
  module CLI
    # The filters of `penstock server` as the application expects them: options in, {#take?} out. {Routing::Selection}
    # defines their meaning.
    class Filters
      KINDS = Routing::Selection::KINDS
      OPTIONS = KINDS.flat_map { |kind| [:"include_#{kind}", :"exclude_#{kind}"] }.freeze

      # @param names [Hash{Symbol => Array<String>}] by {OPTIONS}
      def initialize(**names)
        @selection = Routing::Selection.new(include: of(names, "include"), exclude: of(names, "exclude"))
        freeze
      end

      # @param topic [Routing::Topic]
      # @param subscription_group [Routing::SubscriptionGroup]
      # @return [Boolean]
      def take?(topic, subscription_group)
        @selection.consumer_group?(subscription_group.consumer_group) &&
          @selection.subscription_group?(subscription_group) && @selection.topic?(topic)
      end

      # @param routes [Routing::Routes]
      # @return [void]
      # @raise [ConfigurationError] unknown names, or nothing is left to consume
      def check(routes)
        problems = @selection.problems(routes)
        problems << routes.nothing_to_consume if problems.empty? && none_left?(routes)
        raise ConfigurationError.new(problems) if problems.any?
      end

      private

      def of(names, verb)
        KINDS.to_h { |kind| [kind, names.fetch(:"#{verb}_#{kind}", [])] }
      end

      def none_left?(routes)
        routes.subscription_groups.none? do |group|
          group.topics.any? { |topic| topic.active? && take?(topic, group) }
        end
      end
    end
  end
end
