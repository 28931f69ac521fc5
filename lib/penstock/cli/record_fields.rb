# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module CLI
    # Returns key, headers and payload of a record for `--json`. JSON contains only text: UTF-8 is used as it is; other
    # values are null (a header is left out), and their bytes are in a field whose name ends in `_base64`. So a field
    # always has the same type, and no byte is lost:
    #
    #     {"key": "k", "headers": {"tag": "web"}, "headers_base64": {"trace": "//4="}, "payload": null, "payload_base64": "AP8="}
    #
    # Stateless.
    module RecordFields
      class << self
        # @param record [Message]
        # @return [Hash{Symbol => Object}]
        def of(record)
          {**field(:key, record.raw_key), **headers(record.raw_headers || {}), **field(:payload, record.raw_payload)}
        end

        # @param name [Symbol]
        # @param bytes [String, nil]
        # @return [Hash] the field and, if needed, the one with its bytes
        def field(name, bytes)
          return {name => text(bytes)} if bytes.nil? || text?(bytes)

          {name => nil, :"#{name}_base64" => encoded(bytes)}
        end

        private

        def headers(headers)
          plain, coded = headers.partition { |name, value| text?(name) && Array(value).all? { |one| one.nil? || text?(one) } }
          found = {headers: plain.to_h { |name, value| [text(name), each(value) { |one| text(one) }] }}
          coded.empty? ? found : {**found, headers_base64: coded(coded)}
        end

        # Names that aren't UTF-8 are shown as text. If two of them then look alike, all their values are under that
        # name.
        def coded(rows)
          rows.group_by { |name, _value| Printable.utf8(name) }.transform_values do |same|
            values = same.flat_map { |_name, value| value.is_a?(Array) ? value : [value] }
            each((values.size == 1) ? values.first : values) { |one| one && encoded(one) }
          end
        end

        def each(value, &block) = value.is_a?(Array) ? value.map(&block) : yield(value)

        def text?(bytes) = text(bytes).valid_encoding?

        def text(bytes) = bytes && String.new(bytes, encoding: Encoding::UTF_8)

        def encoded(bytes) = [bytes].pack("m0")
      end
    end
  end
end
