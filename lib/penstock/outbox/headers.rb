# frozen_string_literal: true

require "json"

module Penstock
  module Outbox
    # Stores headers as text in a column: JSON, so that they can be read in the database. Values that aren't valid UTF-8 are
    # stored as `{"base64": "…"}`. Stateless.
    module Headers
      class << self
        # @param headers [Hash{String => String, nil, Array}, nil] as {Producer} takes them
        # @return [String, nil]
        def dump(headers)
          return if headers.nil? || headers.empty?

          JSON.generate(headers.to_h { |name, value| [name.encode(Encoding::UTF_8), dump_value(value)] })
        end

        # @param text [String, nil]
        # @return [Hash, nil]
        # @raise [JSON::ParserError, TypeError, KeyError, ArgumentError] the column contains something that {dump} doesn't
        #   write
        def load(text)
          return if text.nil?

          headers = JSON.parse(text)
          raise TypeError, "expected a Hash" unless headers.is_a?(Hash)

          headers.transform_values { |value| load_value(value) }
        end

        # @param name [String]
        # @return [Boolean] whether a header with this name can be stored
        def name?(name)
          name.encode(Encoding::UTF_8).valid_encoding?
        rescue EncodingError
          false
        end

        private

        def dump_value(value)
          return value.map { |part| dump_value(part) } if value.is_a?(Array)
          return value if value.nil?

          text = value.dup.force_encoding(Encoding::UTF_8)
          text.valid_encoding? ? text : {"base64" => [value].pack("m0")}
        end

        def load_value(value)
          case value
          when Array then value.map { |part| load_value(part) }
          when Hash then value.fetch("base64").unpack1("m0")
          else value
          end
        end
      end
    end
  end
end
