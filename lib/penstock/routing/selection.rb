# frozen_string_literal: true

require_relative "../errors"
require_relative "../nearest"

module Penstock
  module Routing
    # Selects the parts of the routes that a process runs, from options such as `--include-topics` and
    # `--exclude-consumer-groups`. If a kind is included at all, only the named ones run; inclusion wins over exclusion
    # of the same name. A frozen value.
    class Selection
      KINDS = %i[consumer_groups subscription_groups topics].freeze

      # @param include [Hash{Symbol => Array<String>}] names by kind
      # @param exclude [Hash{Symbol => Array<String>}]
      def initialize(include: {}, exclude: {})
        @include = names(include)
        @exclude = names(exclude)
        freeze
      end

      # @return [Boolean] whether it excludes anything
      def any? = [@include, @exclude].any? { |kinds| kinds.each_value.any?(&:any?) }

      # @param group [ConsumerGroup]
      def consumer_group?(group) = runs?(:consumer_groups, [group.id, *group.segment_origin])

      # @param group [SubscriptionGroup]
      def subscription_group?(group) = runs?(:subscription_groups, [group.name, group.id])

      # @param topic [Topic] patterns are selected by their name
      def topic?(topic) = runs?(:topics, [topic.name])

      # @param routes [Routes] before the selection
      # @return [Array<Problem>] unknown names, and a selection that leaves nothing
      def problems(routes)
        KINDS.flat_map { |kind| unknown(kind, known(kind, routes), routes) }
      end

      private

      def names(kinds)
        KINDS.to_h { |kind| [kind, Array(kinds[kind]).map(&:to_s).freeze] }.freeze
      end

      def runs?(kind, names)
        included = @include[kind]
        return (names & included).any? if included.any?

        (names & @exclude[kind]).empty?
      end

      # Topics that don't exist yet may match a pattern.
      def unknown(kind, known, routes)
        wanted = (@include[kind] | @exclude[kind]) - known
        wanted = wanted.reject { |name| routes.find(name) } if kind == :topics
        wanted.map do |name|
          Problem.new("#{kind.to_s.tr("_", "-")} #{name}", "is in no route", Nearest.hint(name, known) || existing(known))
        end
      end

      # Most names that an error lists.
      LISTED = 10
      private_constant :LISTED

      def existing(known)
        return "The routes have none" if known.empty?

        "The routes have #{known.first(LISTED).join(", ")}#{", …" if known.size > LISTED}"
      end

      def known(kind, routes)
        case kind
        when :consumer_groups then routes.consumer_groups.flat_map { |group| [group.id, *group.segment_origin] }.uniq
        when :subscription_groups then routes.all_subscription_groups.flat_map { |group| [group.name, group.id] }
        else routes.topics.map(&:name)
        end
      end
    end
  end
end
