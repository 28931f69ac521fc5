# frozen_string_literal: true

require_relative "core"

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
      Decoded = Struct.new(:user_metadata, :clean, :completed, :attempts, :ignored, keyword_init: true)
      NOTHING = Decoded.new(user_metadata: nil, clean: nil, completed: [].freeze, attempts: {}.freeze, ignored: nil).freeze
      private_constant :NOTHING

      class << self
        # @param base [Integer] the offset that is committed: the lowest one not complete
        # @param topic [String]
        # @param clean [Boolean] the owner has ended with nothing running
        # @param cluster_id [String, nil] the same when it is decoded
        # @param completed [Array<(Integer, Integer)>] runs above the base that are complete, from and up to (exclusive),
        #   ascending, not touching
        # @param attempts [Hash{Integer=>Integer}] how often records were tried, by offset, ascending
        # @param user_metadata [String, nil] at most {USER_MAX_BYTES}
        # @return [String, nil] ASCII, at most {MAX_BYTES}; nil when runs and attempts are too many for that
        # @raise [ArgumentError] the user's part is too long, or something doesn't ascend
        def encode(base:, topic:, clean: false, cluster_id: nil, completed: [], attempts: {}, user_metadata: nil)
          if user_metadata && user_metadata.bytesize > USER_MAX_BYTES
            raise ArgumentError, "offset metadata has #{user_metadata.bytesize} bytes; at most #{USER_MAX_BYTES} are yours"
          end

          pack(base, cluster_id, topic, clean, completed, attempts.to_a, user_metadata)
        end

        # @param text [String, nil] the metadata as it was committed
        # @param base [Integer] the offset it was committed with
        # @param topic [String]
        # @param cluster_id [String, nil]
        # @return [Decoded] never raises for what stands in the text
        def decode(text, base:, topic:, cluster_id: nil)
          return NOTHING if text.nil? || text.empty?

          ignored, clean, completed, attempts, user = unpack(text, base, cluster_id, topic)
          user = text.dup if ignored == :foreign
          Decoded.new(
            user_metadata: readable(user), clean: ignored ? nil : clean, completed: completed, attempts: attempts.to_h,
            ignored: ignored
          )
        end

        private

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
