# frozen_string_literal: true

module Penstock
  module Config
    # Finds durations that look like seconds: everywhere they are milliseconds, and `shutdown_timeout = 30` leaves jobs no time to
    # end. Such a value is valid, so it is reported by a warning when the application starts. Stateless.
    module Seconds
      # Up to this number of ms a value of these settings is taken for seconds.
      SUSPECT = 120
      # Those for which no such value makes sense.
      SETTINGS = %w[shutdown_timeout revocation_drain admin.max_wait_time].freeze
      PROPERTIES = %i[session.timeout.ms max.poll.interval.ms message.timeout.ms request.timeout.ms socket.timeout.ms
        transaction.timeout.ms delivery.timeout.ms].freeze

      class << self
        # @param settings [Settings]
        # @return [Array<String>] one sentence per setting
        def warnings(settings)
          values = settings.to_h
          own = SETTINGS.to_h { |path| ["config.#{path}", values[path]] }
          kafka = PROPERTIES.to_h { |name| ["config.kafka: #{name}", settings.kafka[name]] }
          own.merge(kafka).filter_map { |place, value| sentence(place, value) if suspect?(value) }
        end

        private

        def suspect?(value) = value.is_a?(Integer) && value.between?(1, SUSPECT)

        def sentence(place, value)
          "#{place} is #{value} ms: durations are in milliseconds. Write #{value}_000 if you mean #{value} seconds"
        end
      end
    end
  end
end
