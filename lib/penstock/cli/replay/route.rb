# frozen_string_literal: true

require_relative "../../routing/features"
require_relative "../../routing/topic"

module Penstock
  module CLI
    module Replay
      # Builds a topic from a dump's description of its route. The dump doesn't contain user code, but its results.
      # Stateless.
      module Route
        # Never called in a replay.
        CODE = ->(*) { raise Error, "code of the application isn't part of a dump" }
        # Only the lanes of the whole topic know the breaker's state; its recorded decisions are used.
        WITHOUT = {breaker: false}.freeze
        Group = Struct.new(:segment)
        private_constant :CODE, :WITHOUT

        # Like {Routing::Topic}, without an application.
        class Topic < Routing::Topic
          def consumer_group = Group.new(nil)
        end

        class << self
          # @param route [Hash{String => Object}]
          # @return [Topic]
          def topic(route)
            features = route.fetch("features").to_h { |name, value| [name.to_sym, value(value)] }
            Topic.new(name: route.fetch("name"), consumer_group_id: route.fetch("group"), kafka: {},
              features: {deserializers: Serialization::Deserializers::DEFAULT, **features, **WITHOUT})
          end

          private

          def value(value)
            case value
            when /\A:/ then value.delete_prefix(":").to_sym
            when Array then value.map { |each| value(each) }
            when Hash then map(value)
            else value
            end
          end

          def map(values)
            return CODE if values.key?("code")
            values.key?("is") ? struct(values) : values.transform_values { |value| value(value) }
          end

          # A member that this version doesn't have is left out; one that the dump doesn't have is nil.
          def struct(members)
            kind = Routing.const_get(members.fetch("is"))
            given = kind.members.to_h { |name| [name, value(members[name.to_s])] }
            kind.keyword_init? ? kind.new(**given) : kind.new(*given.values)
          end
        end
      end
    end
  end
end
