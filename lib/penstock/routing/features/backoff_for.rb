# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # How long a record waits that failed with one of these errors: as `pause` says it, or what a block answers in ms.
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

        # @return [Feature]
        def self.feature
          Feature.new(:backoff_for, options: OPTIONS, positional: :errors, repeatable: true, block: :with,
            renamed: {with_exponential_backoff: :exponential}, absent: [].freeze,
            description: "Waits before retries after certain errors, as `pause`, or a block with error and attempt that " \
                         "answers ms. The first that fits counts; may be said several times.",
            # Who says a long timeout only doesn't want it cut by the setting's maximum.
            value: lambda { |errors:, timeout:, max_timeout:, exponential:, with:|
              Routing::BackoffFor.new(errors, timeout, [timeout, max_timeout].max, exponential, with)
            })
        end
      end
    end
  end
end
