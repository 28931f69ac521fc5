# frozen_string_literal: true

require_relative "../features/parallel_segments"
require_relative "subscription"

module Penstock
  module Routing
    module Dsl
      # The block of a `consumer_group`.
      class Group < Subscription
        UNNAMED = Object.new.freeze
        private_constant :UNNAMED

        # @param session [Session]
        # @param entry [Draft::Group, nil] nil outside of a consumer group
        def initialize(session, entry = nil)
          super(session, group: entry&.name)
          define_group_verb(Features::Segments.feature) { |read| entry.segments = read } if entry
        end

        # Topics that share a connection of their own.
        #
        # @param name [String, Symbol] may be omitted, but must not be nil
        def subscription_group(name = UNNAMED, &block)
          name = draft.anonymous_subscription if name.equal?(UNNAMED)
          name = name_of(name, "subscription_group")
          Subscription.new(@session, group: @group, name: name).fill(block) if name
          nil
        end

        private

        def place
          "routes: #{@group ? "consumer_group #{@group}" : "top level"}"
        end

        def verbs
          [:topic, :pattern, :delay_topics, :subscription_group, *(:parallel_segments if @group), *Macro.verbs]
        end
      end
    end
  end
end
