# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../arity"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # The wait before retrying a record that failed with one of these errors: like `pause`, or the ms that a block
    # returns.
    BackoffFor = Struct.new(:errors, :timeout, :max_timeout, :exponential, :with) do
      include FrozenStruct

      # @return [Boolean]
      def for?(error) = errors.any? { |klass| klass === error }
    end

    module Features
      # `backoff_for(Timeout::Error, timeout: 100)`, `backoff_for(RateLimited) { |error, attempt| error.retry_after_ms }`
      module BackoffFor
        MS = Config::Types::Milliseconds.new(min: 1)
        private_constant :MS

        # One exception class or several.
        class Classes < Config::Types::Exceptions
          def coerce(value)
            Array(value).empty? ? Config::Types::INVALID : super
          end

          def to_s = "an exception class, or an Array of them"
        end

        from = ->(member) { ->(settings) { settings.pause.public_send(member) } }
        OPTIONS = {
          errors: Feature::Option.new(Classes.new, Feature::REQUIRED),
          timeout: Feature::Option.new(MS, from.call(:timeout)),
          max_timeout: Feature::Option.new(MS, from.call(:max_timeout)),
          exponential: Feature::Option.new(Config::Types::Flag.new, from.call(:with_exponential_backoff)),
          with: Feature::Option.new(Config::Types::Responding.new(:call), nil)
        }.freeze

        CHECK = lambda do |_topic, backoffs, _settings|
          backoffs.flat_map { |backoff| Arity.complaints("backoff_for's block", backoff.with, %w[error attempt]) }
        end

        # @return [Feature]
        def self.feature
          Feature.new(:backoff_for, options: OPTIONS, positional: :errors, repeatable: true, block: :with, check: CHECK,
            renamed: {with_exponential_backoff: :exponential}, absent: [].freeze,
            description: "Waits before retries after certain errors, like `pause`, or a block called with error and attempt " \
                         "that returns ms. The first that matches counts; may be used several times.",
            # A route with a long timeout only should not be limited by the setting's maximum.
            value: lambda { |errors:, timeout:, max_timeout:, exponential:, with:|
              Routing::BackoffFor.new(errors, timeout, [timeout, max_timeout].max, exponential, with)
            })
        end
      end
    end
  end
end
