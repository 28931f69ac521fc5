# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # When failures are taken for an outage instead of for bad records. `outage_errors` are names of classes, so that none
    # has to be loaded.
    Breaker = Struct.new(:after, :outage_after, :outage_errors) do
      include FrozenStruct
    end

    module Features
      # `breaker after: 10`, `breaker false`
      module Breaker
        # What says by itself that something else is down.
        OUTAGE_ERRORS = %w[
          Errno::ECONNREFUSED Errno::ECONNRESET Errno::ECONNABORTED Errno::EHOSTUNREACH Errno::ENETUNREACH Errno::ETIMEDOUT
          Errno::EPIPE SocketError Timeout::Error OpenSSL::SSL::SSLError
          ActiveRecord::ConnectionNotEstablished ActiveRecord::ConnectionFailed ActiveRecord::ConnectionTimeoutError
          Sequel::DatabaseConnectionError Sequel::DatabaseDisconnectError Sequel::PoolTimeout
          PG::ConnectionBad Mysql2::Error::ConnectionError Trilogy::ConnectionError
          Redis::BaseConnectionError RedisClient::ConnectionError
          Faraday::ConnectionFailed Faraday::TimeoutError HTTP::ConnectionError HTTPX::ConnectionError
          Elastic::Transport::Transport::Error
        ].freeze

        # Classes, or their names.
        class ClassNames
          def coerce(value)
            list = Array(value)
            return Config::Types::INVALID unless list.all? { |one| one.is_a?(String) || one.is_a?(Class) }

            list.map(&:to_s).freeze
          end

          def to_s = "an Array of exception classes, or of their names"
        end

        OPTIONS = {
          active: Feature::Option.new(Config::Types::Flag.new, true),
          after: Feature::Option.new(Config::Types::Whole.new(min: 2), 10),
          outage_after: Feature::Option.new(Config::Types::Whole.new(min: 1), 3),
          outage_errors: Feature::Option.new(ClassNames.new, OUTAGE_ERRORS)
        }.freeze

        DEFAULT = Routing::Breaker.new(10, 3, OUTAGE_ERRORS)

        # @return [Feature] whose value is nil where the topic says nothing, false where it wants none
        def self.feature
          Feature.new(:breaker, options: OPTIONS, positional: :active,
            description: "When so many different records in a row fail alike the topic waits instead of losing them to the " \
                         "dead letters; false never waits. On where there are dead letters.",
            value: lambda { |active:, after:, outage_after:, outage_errors:|
              active && Routing::Breaker.new(after, outage_after, outage_errors)
            })
        end
      end
    end
  end
end
