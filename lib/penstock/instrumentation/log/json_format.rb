# frozen_string_literal: true

require_relative "../../printable"

module Penstock
  module Instrumentation
    module Log
      # `config.log_format = :json`: one JSON object per line, for log collectors. Stateless; any thread.
      #
      # Penstock's entries are complete objects when they reach the logger, so they are JSON with any formatter that prints the
      # message alone (Rails', for example). As the formatter of a logger, this makes one of all other entries, too.
      module JsonFormat
        # An entry that is a JSON object already.
        class Entry < String
        end

        # Keys of a payload that become fields of the entry, if their values are simple.
        FIELDS = %i[topic partition offset first_offset last_offset messages_count attempt attempts next to retry_in_ms lag count
          consumer_group_id subscription_group_id producer_id node pid reason signal waited_ms type].freeze
        private_constant :FIELDS

        # Loggers whose entries are to be JSON; see {.use}.
        @loggers = ObjectSpace::WeakMap.new

        class << self
          # Makes all of Penstock's entries to the logger JSON. A logger without a formatter gets this one; another formatter is
          # left as it is.
          # @param logger [Logger, #info]
          # @return [Logger, #info] the logger
          def use(logger)
            @loggers[logger] = true
            logger.formatter ||= self if logger.respond_to?(:formatter=) && logger.respond_to?(:formatter)
            logger
          end

          # @param logger [Object]
          # @return [Boolean]
          def use?(logger) = @loggers.key?(logger)

          # Ruby's interface of a logger's formatter.
          # @param severity [String]
          # @param time [Time]
          # @param progname [String, nil]
          # @param message [Object]
          # @return [String] a line
          def call(severity, time, progname, message)
            message = entry(severity, progname, text(message), {}, time) unless message.is_a?(Entry)
            "#{message}\n"
          end

          # @param severity [Symbol, String]
          # @param progname [String, nil]
          # @param text [String] its lines after the first become `details`
          # @param fields [Hash{Symbol => Object}]
          # @return [Entry]
          def entry(severity, progname, text, fields = {}, time = Time.now)
            message, *details = Printable.lines(text).split("\n")
            values = {time: time.utc.strftime("%Y-%m-%dT%H:%M:%S.%6NZ"), severity: severity.to_s.upcase, progname: progname,
                      message: message, **fields}
            values[:details] = details.map(&:strip) unless details.empty?
            Entry.new(Printable.json(values.compact))
          end

          # @param event [Event]
          # @return [Hash{Symbol => Object}] its name, its main fields, and the error's class and message
          def fields(event)
            payload = event.payload
            found = FIELDS.to_h { |key| [key, simple(payload[key])] }.compact
            found[:took_ms] = payload[:time].round(3) if payload[:time].is_a?(Numeric)
            {event: event.id, **found, **error(payload[:error])}
          end

          private

          # A node of a swarm stands for its number.
          def simple(value)
            return value if value.is_a?(String) || value.is_a?(Symbol) || value.is_a?(Numeric)

            value.to_int if value.respond_to?(:to_int)
          end

          def error(error)
            return {} unless error.is_a?(Exception)

            {error_class: Printable.line(error.class, Printable::NAME_BYTES), error_message: Printable.message(error)}
          end

          def text(message)
            return message if message.is_a?(String)
            return [Printable.error(message), *message.backtrace].join("\n") if message.is_a?(Exception)

            Printable.inspect(message, nil)
          end
        end
      end
    end
  end
end
