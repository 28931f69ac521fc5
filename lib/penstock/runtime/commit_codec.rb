# frozen_string_literal: true

require_relative "../native/envelope"

module Penstock
  module Runtime
    # Offset metadata of a lane's commit: our envelope around the user's string. See docs/formats.md.
    class CommitCodec
      # What was found in a committed offset's metadata. `ignored` says why nothing of it counts, or is nil.
      Decoded = Struct.new(:user_metadata, :clean, :ignored, keyword_init: true)

      # @param lane [Processing::Lane]
      # @param offset [Integer]
      # @param clean [Boolean]
      # @return [String, nil]
      def encode(lane, offset, clean:)
        user = lane.marks.metadata || lane.adopted_metadata
        Native::Envelope.encode(base: offset, clean: clean, topic: lane.topic_name, user_metadata: user)
      end

      # @return [Decoded]
      def decode(lane, offset, metadata)
        decoded = Native::Envelope.decode(metadata, base: offset, topic: lane.topic_name)
        Decoded.new(user_metadata: decoded.user_metadata, clean: decoded.clean, ignored: decoded.ignored)
      end
    end
  end
end
