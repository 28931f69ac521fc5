# frozen_string_literal: true

require "zlib"
require_relative "../../errors"

module Penstock
  module Execution
    module Processes
      # Frames the messages between the application and the processes of its pool: a type, a length and a checksum before the
      # bytes, so that a truncated, damaged or foreign stream raises an error at once and never yields a part of a record.
      #
      #     magic (2 bytes) · version (1) · type (1) · length of the body (4) · CRC-32 of the body (4) · body
      module Frame
        MAGIC = 0x5053
        VERSION = 1
        HEADER = "nCCNN"
        HEADER_BYTES = 12
        # The largest body. A unit's records are bounded by `window_bytes`, but one record may be larger than that.
        MAX_BYTES = 1024 * 1024 * 1024

        # A type's number is its position here; new ones are added at the end.
        #
        # To a child: a unit; interrupt the unit's code; return the units that haven't begun; a change of a unit's partition;
        # the answer to a question; end. From a child: a unit has ended; units that hadn't begun; a question, for whose answer
        # user code waits; a wish, which has no answer. From the mold: a child was forked, a child has ended. To a spawned mold:
        # what to load; from it: it has loaded it, or why not. From a child: events that belong to no unit.
        TYPES = %i[unit interrupt recall changed answer stop done returned query request forked ended load loaded
          refused events].freeze
        NUMBERS = TYPES.each_with_index.to_h.freeze
        private_constant :NUMBERS

        # The stream doesn't consist of frames.
        class Damaged < StandardError
          include Error
        end

        # @param type [Symbol] one of {TYPES}
        # @param body [String] binary
        # @return [String]
        def self.encode(type, body = "".b)
          [MAGIC, VERSION, NUMBERS.fetch(type), body.bytesize, Zlib.crc32(body)].pack(HEADER) << body
        end

        # @param type [Symbol]
        # @param value [Object] made of numbers, Strings, Symbols, Arrays and Hashes
        # @return [String]
        def self.encode_value(type, value) = encode(type, Marshal.dump(value))

        # The checksum was verified: a process of ours wrote these bytes.
        # @param body [String]
        # @return [Object]
        # @raise [Damaged]
        def self.value(body)
          Marshal.load(body)
        rescue TypeError, ArgumentError, EOFError, NameError => error
          raise Damaged, "a frame's body can't be read: #{error.message}"
        end

        # Assembles frames from bytes as they arrive. One for each stream, used by the thread that reads it.
        class Parser
          def initialize
            @buffer = "".b
            @at = 0
          end

          # @param bytes [String]
          # @yieldparam type [Symbol]
          # @yieldparam body [String] binary
          # @return [void]
          # @raise [Damaged] nothing more can be read from this stream
          def feed(bytes)
            @buffer << bytes
            while (frame = shift)
              yield(*frame)
            end
            trim
          end

          # @return [Boolean] whether the stream may end here
          def empty? = @at == @buffer.bytesize

          private

          def shift
            return if @buffer.bytesize - @at < HEADER_BYTES
            magic, version, number, size, crc = @buffer.unpack(HEADER, offset: @at)
            type = check(magic, version, number, size)
            return if @buffer.bytesize - @at < HEADER_BYTES + size
            body = @buffer.byteslice(@at + HEADER_BYTES, size)
            raise Damaged, "the checksum of a frame of #{size} bytes is wrong" unless Zlib.crc32(body) == crc
            @at += HEADER_BYTES + size
            [type, body]
          end

          def check(magic, version, number, size)
            raise Damaged, "no frame begins with #{format("%04x", magic)}" unless magic == MAGIC
            raise Damaged, "a frame of version #{version}, known is #{VERSION}" unless version == VERSION
            raise Damaged, "a frame of #{size} bytes, at most #{MAX_BYTES} are allowed" if size > MAX_BYTES
            TYPES[number] || raise(Damaged, "a frame of the unknown type #{number}")
          end

          def trim
            return if @at.zero?
            @buffer = @buffer.byteslice(@at..)
            @at = 0
          end
        end
      end
    end
  end
end
