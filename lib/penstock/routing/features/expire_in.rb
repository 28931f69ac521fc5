# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../header_name"
require_relative "../option_values"

module Penstock
  module Routing
    # The age at which messages expire: `ttl_ms` for all of them, unless a message's `header` has another number of ms; either
    # may be nil. `topic`: where expired messages are sent; nil: they are dropped.
    ExpireIn = Struct.new(:ttl_ms, :header, :topic) do
      include FrozenStruct

      # @return [Boolean] whether expired messages are sent to a topic
      def letters? = !topic.nil?
    end

    module Features
      # `expire_in 3_600_000`, `expire_in header: "ttl_ms", topic: "offers.expired"`
      module ExpireIn
        CHECK = lambda do |topic, expiry, _settings|
          next [] unless expiry

          [*ExpireIn.nothing_problem(expiry), *ExpireIn.loop_problem(topic, expiry)]
        end

        OPTIONS = {
          value: Feature::Option.new(Config::Types::Either.new(Config::Types::Milliseconds.new(min: 1), nil_allowed: true), nil),
          header: Feature::Option.new(HeaderName.new, nil),
          topic: Feature::Option.new(Config::Types::Either.new(Config::Types::Name.new, nil_allowed: true), nil)
        }.freeze
        private_constant :OPTIONS

        class << self
          # @return [Feature]
          def feature
            Feature.new(:expire_in, positional: :value, options: OPTIONS, check: CHECK,
              value: ->(value:, header:, topic:) { Routing::ExpireIn.new(value, header, topic) },
              description: "Messages older than this are not consumed and count as complete; also checked before a retry. " \
                           "`header` names a header with a message's own value in ms; expired messages are sent to `topic`.")
          end

          def nothing_problem(expiry)
            return if expiry.ttl_ms || expiry.header

            [["expire_in has neither an age nor header:", "Write expire_in 3_600_000, or expire_in header: \"ttl_ms\""]]
          end

          # An expired message must not be consumed by the same route again.
          def loop_problem(topic, expiry)
            return unless expiry.topic && topic.active?

            if topic.pattern?
              return unless topic.pattern.match?(expiry.topic)
              return [["its pattern also matches #{expiry.topic}, the topic of its expired messages", "Rename that topic"]]
            end
            retries = topic.features[:retry_topics]&.of(topic.name)&.names || []
            return unless [topic.name, *retries].include?(expiry.topic)

            [["expire_in topic: #{expiry.topic} is a topic that this route consumes", "Name another one"]]
          end
        end
      end
    end
  end
end
