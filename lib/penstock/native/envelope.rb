# frozen_string_literal: true

require_relative "core"
require_relative "ledger"

module Penstock
  module Native
    # What Penstock writes into the metadata of an offset commit, and reads back: see `ext/penstock_core/core/envelope.h`
    # for the format and `docs/formats.md` for what may change. Stateless; any thread.
    #
    # Defined in the extension: `MAX_BYTES` (of the whole, as brokers allow), `USER_MAX_BYTES` (the user's share), `pack`,
    # `unpack`.
    module Envelope
      # What a commit's metadata said.
      #
      # `ignored` is nil when all of it counts; else nothing but `user_metadata` does, and it says why: `:foreign` (not
      # ours; then it is all the user's), `:newer` (of a later version), `:damaged`, `:other_offset` (of another commit: a
      # mirrored group), `:other_topic` (or another cluster). `clean` is nil where our envelope doesn't speak.
      # `unclean_adoptions` is how many owners in a row took over from one that didn't end cleanly, `crashes` how often a
      # record was alone when its process died.
      Decoded = Struct.new(:user_metadata, :clean, :completed, :attempts, :unclean_adoptions, :crashes, :ignored,
        keyword_init: true)
      NOTHING = Decoded.new(user_metadata: nil, clean: nil, completed: [].freeze, attempts: {}.freeze, unclean_adoptions: 0,
        crashes: {}.freeze, ignored: nil).freeze
      private_constant :NOTHING

      # A written envelope, and what there was no room for: completed offsets (their records run again if the owner dies),
      # records whose attempts or crashes are counted anew.
      Written = Struct.new(:text, :left_out_offsets, :left_out_attempts, :left_out_crashes) do
        # @return [Boolean]
        def whole? = left_out_offsets.zero? && left_out_attempts.zero? && left_out_crashes.zero?
      end

      class << self
        # Never fails for want of room: the user's metadata always goes in, then crashes, completed runs and attempts, each
        # as far as it fits.
        #
        # @param base [Integer] the offset that is committed: the lowest one not complete
        # @param topic [String]
        # @param clean [Boolean] the owner has ended with nothing running
        # @param cluster_id [String, nil] the same when it is decoded
        # @param completed [Ledger, Array<(Integer, Integer)>] runs above the base that are complete, from and up to
        #   (exclusive), ascending, not touching; or the ledger that knows them
        # @param attempts [Hash{Integer=>Integer}] how often records were tried, by offset, ascending
        # @param unclean_adoptions [Integer] owners in a row that took over from one that didn't end cleanly
        # @param crashes [Hash{Integer=>Integer}] how often a record was alone when its process died, by offset, ascending
        # @param user_metadata [String, nil] at most {USER_MAX_BYTES}
        # @param budget [Integer] bytes the text may have; the user's part goes in even if that alone needs more
        # @return [Written]
        # @raise [ArgumentError] the user's part is too long, or something doesn't ascend
        def write(base:, topic:, clean: false, cluster_id: nil, completed: [], attempts: {}, unclean_adoptions: 0,
          crashes: {}, user_metadata: nil, budget: MAX_BYTES)
          check_user(user_metadata)
          Written.new(*pack(base, cluster_id, topic, clean, completed, attempts.to_a, [unclean_adoptions, crashes.to_a],
            user_metadata, budget))
        end

        # @return [String] the text alone, ASCII, at most {MAX_BYTES}
        # @see write
        def encode(**facts) = write(**facts).text

        # @param text [String, nil] the metadata as it was committed
        # @param base [Integer] the offset it was committed with
        # @param topic [String]
        # @param cluster_id [String, nil]
        # @return [Decoded] never raises for what stands in the text
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
          raise ArgumentError, "offset metadata has #{user_metadata.bytesize} bytes; at most #{USER_MAX_BYTES} are yours"
        end

        # UTF-8 when it is, else the bytes.
        def readable(user)
          return unless user

          user.force_encoding(Encoding::UTF_8)
          user.valid_encoding? ? user : user.force_encoding(Encoding::BINARY)
        end
      end
    end
  end
end
