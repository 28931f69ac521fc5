# frozen_string_literal: true

module Penstock
  module Serialization
    # Returns the bytes unchanged. `deserializer Penstock::Serialization::Raw.new`
    class Raw
      # @param message [Message]
      # @return [String, nil] the payload, binary; a copy that user code may change
      def call(message)
        raw = message.raw_payload
        raw && +raw
      end
    end

    # Returns the key unchanged: the default.
    class RawKey
      # @param metadata [Message]
      # @return [String, nil] the key, binary; a copy that user code may change
      def call(metadata)
        raw = metadata.raw_key
        raw && +raw
      end
    end

    # Returns the headers unchanged: the default.
    class RawHeaders
      # @param metadata [Message]
      # @return [Hash{String => String, Array<String, nil>, nil}] a copy that user code may change
      def call(metadata)
        metadata.raw_headers.transform_values { |value| value.is_a?(Array) ? value.map { |one| copy(one) } : copy(value) }
      end

      private

      def copy(value) = value && +value
    end
  end
end
