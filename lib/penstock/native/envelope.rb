# frozen_string_literal: true

require_relative "core"
require_relative "ledger"

module Penstock
  module Native
    # Encodes and decodes what Penstock writes into the metadata of an offset commit: see `ext/penstock_core/core/envelope.h`
    # for the format and `docs/formats.md` for what may change. Stateless; any thread.
    #
    # Defined in the extension: `MAX_BYTES` (of the whole envelope, the limit of brokers), `USER_MAX_BYTES` (the user's share),
    # `pack`, `unpack`.
    module Envelope
      # The decoded metadata of a commit.
      #
      # `ignored` is nil when every field is valid; otherwise only `user_metadata` is, and `ignored` is the reason: `:foreign`
      # (not written by Penstock; then all of it is the user's), `:newer` (of a later version), `:damaged`, `:other_offset` (of
      # another commit: a mirrored group), `:other_topic` (or another cluster). `clean` is nil if the metadata has no valid
      # envelope. `unclean_adoptions` is how many owners in a row took over from one that didn't end cleanly, `crashes` how
      # often a record was running alone when its process died.
      Decoded = Struct.new(:user_metadata, :clean, :completed, :attempts, :unclean_adoptions, :crashes, :ignored,
        keyword_init: true)
      NOTHING = Decoded.new(user_metadata: nil, clean: nil, completed: [].freeze, attempts: {}.freeze, unclean_adoptions: 0,
        crashes: {}.freeze, ignored: nil).freeze
      private_constant :NOTHING

      # A written envelope, and what had to be left out: completed offsets (their records run again if the owner dies), and
      # records whose attempts or crashes will be counted from zero.
      Written = Struct.new(:text, :left_out_offsets, :left_out_attempts, :left_out_crashes) do
        # @return [Boolean]
        def whole? = left_out_offsets.zero? && left_out_attempts.zero? && left_out_crashes.zero?
      end

      class << self
        # Never fails because of the size: the user's metadata is always written, then crashes, completed runs and attempts,
        # each as far as it fits.
        #
        # @param base [Integer] the offset that is committed: the lowest one not complete
        # @param topic [String]
        # @param clean [Boolean] the owner has ended with nothing running
        # @param cluster_id [String, nil] must be the same for decoding
        # @param completed [Ledger, Array<(Integer, Integer)>] complete runs above the base, from and up to (exclusive),
        #   ascending, not touching; or the ledger that knows them
        # @param attempts [Hash{Integer=>Integer}] how often records were tried, by offset, ascending
        # @param unclean_adoptions [Integer] owners in a row that took over from one that didn't end cleanly
        # @param crashes [Hash{Integer=>Integer}] how often a record was running alone when its process died, by offset,
        #   ascending
        # @param user_metadata [String, nil] at most {USER_MAX_BYTES}
        # @param budget [Integer] most bytes of the text; the user's part is written even if it alone needs more
        # @return [Written]
        # @raise [ArgumentError] the user's part is too long, or offsets don't ascend
        def write(base:, topic:, clean: false, cluster_id: nil, completed: [], attempts: {}, unclean_adoptions: 0,
          crashes: {}, user_metadata: nil, budget: MAX_BYTES)
          check_user(user_metadata)
          Written.new(*pack(base, cluster_id, topic, clean, completed, attempts.to_a, [unclean_adoptions, crashes.to_a],
            user_metadata, budget))
        end

        # @return [String] the text alone, ASCII, at most {MAX_BYTES}
        # @see write
        def encode(**facts) = write(**facts).text

        # @param text [String, nil] the metadata that was committed
        # @param base [Integer] the offset with which it was committed
        # @param topic [String]
        # @param cluster_id [String, nil]
        # @return [Decoded] never raises because of the text
        def decode(text, base:, topic:, cluster_id: nil)
          return NOTHING if text.nil? || text.empty?

          ignored, clean, completed, attempts, unclean, crashes, user = unpack(text, base, cluster_id, topic)
          user = text.dup if ignored == :foreign
          Decoded.new(
            user_metadata: readable(user), clean: ignored ? nil : clean, completed: completed, attempts: attempts.to_h,
            unclean_adoptions: unclean, crashes: crashes.to_h, ignored: ignored
          )
        end

        private

        def check_user(user_metadata)
          return unless user_metadata && user_metadata.bytesize > USER_MAX_BYTES
          raise ArgumentError, "offset metadata has #{user_metadata.bytesize} bytes; at most #{USER_MAX_BYTES} are allowed"
        end

        # As UTF-8 if it is valid, else as bytes.
        def readable(user)
          return unless user

          user.force_encoding(Encoding::UTF_8)
          user.valid_encoding? ? user : user.force_encoding(Encoding::BINARY)
        end
      end
    end
  end
end
