# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # Distinguishes an outage from bad records: an outage is `share` of `after` fresh records that fail alike, or
    # `outage_after` in a row with one of `outage_errors` (names of classes, so that none has to be loaded). `limit`:
    # longest time in ms for which other errors hold the topic; false: no limit.
    Breaker = Struct.new(:after, :share, :outage_after, :outage_errors, :limit) do
      include FrozenStruct
    end

    module Features
      # `breaker after: 40, share: 0.8`, `breaker false`
      module Breaker
        # Errors that by themselves show that another system is down.
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
            return Config::Types::INVALID unless list.all? { |one| exception?(one.is_a?(String) ? loaded(one) : one) }

            list.map { |one| one.to_s.delete_prefix("::") }.freeze
          end

          def to_s = "an Array of exception classes, or of their names"

          private

          # Errors are compared by the names of their classes: another class or a module is never among them.
          def exception?(value) = value == :unknown || (value.is_a?(Class) && value <= Exception)

          # Loads nothing: the gem that defines the class may be loaded later, or not at all.
          # @return [Object] the constant of this name; :unknown where there is none yet
          def loaded(name)
            name.delete_prefix("::").split("::").inject(Object) do |scope, part|
              return :unknown unless scope.is_a?(Module) && scope.const_defined?(part, scope == Object) && !scope.autoload?(part)
              scope.const_get(part, scope == Object)
            end
          rescue NameError
            :unknown # no name of a constant
          end
        end

        # A part of a whole.
        class Share
          def coerce(value)
            (value.is_a?(Numeric) && value.positive? && value <= 1) ? value : Config::Types::INVALID
          end

          def to_s = "a number above 0, at most 1"
        end

        # The longest duration of a hold.
        class Limit < Config::Types::Milliseconds
          def coerce(value) = (value == false) ? false : super

          def to_s = "#{super}, or false (none)"
        end

        AFTER = 20
        SHARE = 0.5
        OUTAGE_AFTER = 3
        LIMIT_MS = 300_000

        OPTIONS = {
          active: Feature::Option.new(Config::Types::Flag.new, true),
          after: Feature::Option.new(Config::Types::Whole.new(min: 2), AFTER),
          share: Feature::Option.new(Share.new, SHARE),
          outage_after: Feature::Option.new(Config::Types::Whole.new(min: 1), OUTAGE_AFTER),
          outage_errors: Feature::Option.new(ClassNames.new, OUTAGE_ERRORS),
          limit: Feature::Option.new(Limit.new(min: 1), LIMIT_MS)
        }.freeze

        DEFAULT = Routing::Breaker.new(AFTER, SHARE, OUTAGE_AFTER, OUTAGE_ERRORS, LIMIT_MS)

        # @return [Feature] whose value is nil if the topic doesn't set it, false if it is switched off
        def self.feature
          Feature.new(:breaker, options: OPTIONS, positional: :active,
            description: "When at least `share` of `after` new records fail alike, or `outage_after` in a row with one of " \
                         "`outage_errors`, the topic is held instead of dead-lettering its records, for at most `limit` " \
                         "ms unless it is one of `outage_errors`; false never holds. On by default for topics with dead letters.",
            value: lambda { |active:, after:, share:, outage_after:, outage_errors:, limit:|
              active && Routing::Breaker.new(after, share, outage_after, outage_errors, limit)
            })
        end
      end
    end
  end
end
