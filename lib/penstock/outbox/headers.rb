# frozen_string_literal: true

require "json"

module Penstock
  module Outbox
    # Headers as the text of a column: JSON that can be read in the database. What isn't UTF-8 is in there as
    # `{"base64": "…"}`. Without state.
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
        # @raise [JSON::ParserError, TypeError, KeyError, ArgumentError] somebody wrote something else into the column
        def load(text)
          return if text.nil?

          headers = JSON.parse(text)
          raise TypeError, "a Hash is wanted" unless headers.is_a?(Hash)

          headers.transform_values { |value| load_value(value) }
        end

        # @param name [String]
        # @return [Boolean] whether a header of this name can be kept
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
