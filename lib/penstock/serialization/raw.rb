# frozen_string_literal: true

module Penstock
  module Serialization
    # Returns the bytes unchanged. `deserializer Penstock::Serialization::Raw.new`
    class Raw
      # @param message [Message]
      # @return [String, nil] the payload, frozen, binary
      def call(message)
        message.raw_payload
      end
    end

    # Returns the key unchanged: the default.
    class RawKey
      # @param metadata [Message]
      # @return [String, nil] the key, frozen, binary
      def call(metadata)
        metadata.raw_key
      end
    end

    # Returns the headers unchanged: the default.
    class RawHeaders
      # @param metadata [Message]
      # @return [Hash{String => String, Array<String, nil>, nil}]
      def call(metadata)
        metadata.raw_headers
      end
    end
  end
end
