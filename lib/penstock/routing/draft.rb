# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Routing
    # Records the contents of one `routes.draw`, in the order in which they were written. {Composition} checks them
    # later and turns them into values. Used by one thread at boot.
    class Draft
      # A topic or pattern as written. `given` has the typed options by verb, `otherwise` those that count where `defaults` has
      # none either; `group` is nil outside of a consumer group.
      Topic = Struct.new(:name, :pattern, :group, :subscription, :given, :otherwise, :location, keyword_init: true) do
        def place
          what = if pattern && !name
            "pattern #{pattern.inspect}"
          else
            "#{pattern ? "pattern" : "topic"} #{name}"
          end
          ["routes: #{what}", ("consumer_group #{group}" if group)].compact.join(", ")
        end
      end

      # A consumer group as written; `segments` are the typed options of its verb, or nil.
      Group = Struct.new(:name, :location, :segments)

      # An explicit subscription group as written; `kafka` and `multiplexing` are the typed options of its verbs, or nil.
      Subscription = Struct.new(:group, :name, :location, :kafka, :multiplexing)

      # A use of `delay_topics` as written; `given` are its typed options.
      Delays = Struct.new(:given, :location)

      # @return [Array<Topic>]
      attr_reader :topics
      # @return [Array<Group>]
      attr_reader :groups
      # @return [Array<Subscription>]
      attr_reader :subscriptions
      # @return [Array<Hash>] typed options by verb, one Hash per `defaults`
      attr_reader :defaults
      # @return [Array<Delays>]
      attr_reader :delays
      # @return [Array<Problem>]
      attr_reader :problems

      def initialize
        @topics = []
        @delays = []
        @groups = []
        @subscriptions = []
        @defaults = []
        @problems = []
      end

      # @param place [String]
      # @param location [String, nil] file and line
      def problem(place, message, hint = nil, location: nil)
        problem = Problem.new(location ? "#{place} (#{location})" : place, message, hint)
        @problems << problem unless @problems.include?(problem)
      end

      # @return [String] name for a subscription group without one
      def anonymous_subscription
        "subscription#{@subscriptions.size + 1}"
      end
    end
  end
end
