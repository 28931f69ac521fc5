# frozen_string_literal: true

require_relative "../../../consumer/marks"
require_relative "../../../native/envelope"

module Penstock
  module Runtime
    # Encodes and decodes the metadata of a lane's commit: which offsets beyond the committed one are complete, how often
    # records were tried, and the user's own string, in an envelope. See docs/formats.md. Stateless; used on poll loops'
    # threads.
    class CommitCodec
      # @param lane [Processing::Lane]
      # @param offset [Integer]
      # @param clean [Boolean] the owner has ended with no unit running
      # @return [String] at most as long as the lane's budget; completed offsets that don't fit are omitted: they run again if
      #   the owner dies
      def encode(lane, offset, clean:) = write(lane, offset, clean: clean).text

      # @param lane [Processing::Lane]
      # @param offset [Integer]
      # @param ledger [Processing::Ledger] the completed offsets to encode
      # @param user_metadata [String, nil] takes precedence over the metadata that was marked
      # @return [String, nil] nil when the completed offsets don't all fit
      def encode_whole(lane, offset, ledger, user_metadata)
        user_metadata ||= user_metadata(lane, offset)
        written = write(lane, offset, clean: false, ledger: ledger, user_metadata: user_metadata)
        written.text if written.left_out_offsets.zero?
      end

      # Without the user's metadata.
      # @return [Native::Envelope::Written] includes which offsets don't fit even so
      def write_ours(lane, offset, ledger) = write(lane, offset, clean: false, ledger: ledger, user_metadata: nil)

      # @return [String, nil] the user's metadata for a commit that specifies none
      def user_metadata(lane, offset) = lane.marks.metadata_at(offset) || carried_on(lane.adopted_metadata)

      # @param lane [Processing::Lane]
      # @param offset [Integer] the committed offset
      # @param metadata [String]
      # @return [Native::Envelope::Decoded]
      def decode(lane, offset, metadata) = Native::Envelope.decode(metadata, base: offset, topic: lane.topic_name)

      private

      # Metadata committed by another program may be longer than the user's share: it can be read, but isn't committed again.
      def carried_on(metadata)
        metadata unless metadata && metadata.bytesize > Consumer::Marks::MAX_METADATA_BYTES
      end

      def write(lane, offset, clean:, ledger: lane.ledger, user_metadata: user_metadata(lane, offset))
        attempts = lane.attempts.to_h.select { |failed, _count| failed >= offset && !ledger.complete?(failed) }.sort.to_h
        suspects = lane.suspects
        Native::Envelope.write(base: offset, topic: lane.topic_name, clean: clean, attempts: attempts,
          unclean_adoptions: suspects&.unclean || 0, crashes: suspects&.counts(offset) || {},
          completed: ledger, budget: lane.ledger.budget, user_metadata: user_metadata)
      end
    end
  end
end
