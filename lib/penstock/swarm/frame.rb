# frozen_string_literal: true

require "json"
require "zlib"
require_relative "message"

module Penstock
  module Swarm
    # Messages as bytes on a pipe:
    #
    #     magic (2 bytes) · version (1) · type (1) · length of the body (2) · CRC-32 of the body (4) · body, JSON
    #
    # A frame is at most as long as the kernel writes at once (PIPE_BUF), so that two writers can't mix theirs and one that finds
    # the pipe full has written nothing.
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
      # @return [String] as it may be in a message: UTF-8, no longer than that
      def self.text(text, bytes)
        text = text.to_s
        text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub.byteslice(0, bytes).scrub("")
      end

      # Finds messages in bytes as they come. What isn't a frame is stepped over, byte by byte, until one begins: a node in which
      # something else writes to the pipe is still heard. One a pipe, used by the thread that reads it.
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
        ensure # what was yielded isn't found again, whatever became of it
          @buffer = @buffer.byteslice(@at..)
        end

        private

        # @return [Struct, Symbol, nil] :passed for what is no message, nil when more bytes are needed
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

        # To the next place where a frame may begin; half a magic may be the end of what is here.
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

        # Another version's are left out: its bytes are whole, but nobody here knows what they mean.
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
