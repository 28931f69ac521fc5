# frozen_string_literal: true

require "json"
require "zlib"
require_relative "message"

module Penstock
  module Swarm
    # Encodes and decodes messages on a pipe:
    #
    #     magic (2 bytes) · version (1) · type (1) · length of the body (2) · CRC-32 of the body (4) · body, JSON
    #
    # A frame is at most as long as the kernel writes at once (PIPE_BUF), so that frames of two writers can't mix, and a writer
    # that finds the pipe full has written nothing.
    module Frame
      MAGIC = "PW".b.freeze
      VERSION = 1
      HEADER = "a2CCnN"
      HEADER_BYTES = 10
      MAX_BYTES = 4_096
      MAX_BODY = MAX_BYTES - HEADER_BYTES

      # @param message [Struct] one of {Message::TYPES}
      # @return [String] binary
      # @raise [ArgumentError] it is too long
      def self.encode(message)
        body = body(message)
        raise ArgumentError, "a message of #{body.bytesize} bytes, at most #{MAX_BODY} are allowed" if body.bytesize > MAX_BODY
        [MAGIC, VERSION, Message::TYPES.index(message.class), body.bytesize, Zlib.crc32(body)].pack(HEADER) << body.b
      end

      def self.body(message) = JSON.generate(message.to_a)
      private_class_method :body

      # @param message [Struct] one of {Message::TYPES}
      # @return [Boolean] whether it isn't too long
      def self.fits?(message) = body(message).bytesize <= MAX_BODY

      # @param text [#to_s] of any encoding, also a wrong one
      # @param bytes [Integer]
      # @return [String] fit for a message: UTF-8, at most that long
      def self.text(text, bytes)
        text = text.to_s
        text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub.byteslice(0, bytes).scrub("")
      end

      # Finds messages in bytes as they arrive. Bytes that aren't a frame are skipped, one by one, until a frame begins: a node
      # in which other code writes to the pipe is still heard. One per pipe, used by the thread that reads it.
      class Parser
        # @return [Integer] bytes that were in no frame
        attr_reader :skipped_bytes

        def initialize
          @buffer = "".b
          @skipped_bytes = 0
        end

        # @param bytes [String]
        # @yieldparam message [Struct] one of {Message::TYPES}
        # @return [void]
        def feed(bytes)
          @buffer << bytes
          @at = 0
          while (found = step)
            yield found unless found == :passed
          end
        ensure # a yielded message isn't found again, even if the block raises
          @buffer = @buffer.byteslice(@at..)
        end

        private

        # @return [Struct, Symbol, nil] :passed for bytes that are no message, nil when more bytes are needed
        def step
          return unless seek
          return if left < HEADER_BYTES
          _magic, version, type, size, crc = @buffer.unpack(HEADER, offset: @at)
          return pass if size > MAX_BODY
          return if left < HEADER_BYTES + size
          body = @buffer.byteslice(@at + HEADER_BYTES, size)
          return pass unless Zlib.crc32(body) == crc
          @at += HEADER_BYTES + size
          message(version, type, body) || :passed
        end

        # Skips to the next place where a frame may begin; half a magic may be the end of the available bytes.
        def seek
          found = @buffer.index(MAGIC, @at) # binary: characters are bytes
          stop = found || (@buffer.end_with?("P") ? [@buffer.bytesize - 1, @at].max : @buffer.bytesize)
          skip(stop - @at)
          found
        end

        def left = @buffer.bytesize - @at

        def pass
          skip(1)
          :passed
        end

        def skip(count)
          @skipped_bytes += count
          @at += count
        end

        # Frames of another version are skipped: their bytes are intact, but their meaning isn't known here.
        def message(version, type, body)
          kind = Message::TYPES[type] if version == VERSION
          values = JSON.parse(body, symbolize_names: true) if kind
          kind.new(*values) if values.is_a?(Array) && values.size == kind.members.size
        rescue JSON::ParserError
          nil
        end
      end
    end
  end
end
