# frozen_string_literal: true

require_relative "../consumer/marks"
require_relative "../native/envelope"

module Penstock
  module Runtime
    # The metadata of a lane's commit: what is complete beyond the offset, how often records were tried, and the user's own
    # string, in an envelope. See docs/formats.md. Stateless; used on poll loops' threads.
    class CommitCodec
      # @param lane [Processing::Lane]
      # @param offset [Integer]
      # @param clean [Boolean] the owner has ended with nothing running
      # @return [String] never longer than the lane's budget; what has no room is left out, and is run again if the owner dies
      def encode(lane, offset, clean:) = write(lane, offset, clean: clean).text

      # @param lane [Processing::Lane]
      # @param offset [Integer]
      # @param ledger [Processing::Ledger] what is to be known with it
      # @param user_metadata [String, nil] goes before what was marked
      # @return [String, nil] nil when there is no room for all that is complete
      def encode_whole(lane, offset, ledger, user_metadata)
        user_metadata ||= user_metadata(lane, offset)
        written = write(lane, offset, clean: false, ledger: ledger, user_metadata: user_metadata)
        written.text if written.left_out_offsets.zero?
      end

      # Without the user's.
      # @return [Native::Envelope::Written] says what there is no room for even so
      def write_ours(lane, offset, ledger) = write(lane, offset, clean: false, ledger: ledger, user_metadata: nil)

      # @return [String, nil] the user's, where none is given
      def user_metadata(lane, offset) = lane.marks.metadata_at(offset) || carried_on(lane.adopted_metadata)

      # @param lane [Processing::Lane]
      # @param offset [Integer] the committed offset
      # @param metadata [String]
      # @return [Native::Envelope::Decoded]
      def decode(lane, offset, metadata) = Native::Envelope.decode(metadata, base: offset, topic: lane.topic_name)

      private

      # What another program has committed may be longer than the user's share: that can be read, and isn't committed again.
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
