# frozen_string_literal: true

require_relative "../native/envelope"

module Penstock
  module Runtime
    # The metadata of a lane's commit: what is complete beyond the offset, how often records were tried, and the user's own
    # string, in an envelope. See docs/formats.md. Stateless; used on poll loops' threads.
    class CommitCodec
      # @param lane [Processing::Lane]
      # @param offset [Integer]
      # @param clean [Boolean] the owner has ended with nothing running
      # @param ledger [Processing::Ledger] another one than the lane's
      # @param user_metadata [String, nil] goes before what was marked
      # @return [String] never longer than the lane's budget; what has no room is left out, and is run again if the owner dies
      def encode(lane, offset, clean:, ledger: lane.ledger, user_metadata: nil)
        attempts = lane.attempts.to_h.select { |failed, _count| failed >= offset && !ledger.complete?(failed) }.sort.to_h
        suspects = lane.suspects
        Native::Envelope.encode(base: offset, topic: lane.topic_name, clean: clean, attempts: attempts,
          unclean_adoptions: suspects&.unclean || 0, crashes: suspects&.counts(offset) || {},
          completed: ledger, budget: ledger.budget,
          user_metadata: user_metadata || lane.marks.metadata_at(offset) || lane.adopted_metadata)
      end

      # @param lane [Processing::Lane]
      # @param offset [Integer] the committed offset
      # @param metadata [String]
      # @return [Native::Envelope::Decoded]
      def decode(lane, offset, metadata) = Native::Envelope.decode(metadata, base: offset, topic: lane.topic_name)
    end
  end
end
