# frozen_string_literal: true

require "zlib"

module Penstock
  module TestSupport
    module FaultRuns
      # A record of a fault run. Both its payload and its headers contain its number, so that the key, headers and
      # payload that a consumer gets can be compared with each other and with the log.
      #
      # kind: "ok"; "flaky:N" fails the first N times it is tried; "poison" fails always; "slow:MS" takes that long;
      # "kill:N" kills its process the first N times.
      Record = Struct.new(:uid, :key, :sequence, :kind, :checksum) do
        # @param bytes [Integer] roughly the size of the payload
        def self.make(uid, key, sequence, kind: "ok", bytes: 100)
          new(uid, key, sequence, kind, checksum(uid, key, sequence, kind)).message(bytes)
        end

        # @return [Record, nil] nil if the payload is no such record
        def self.parse(payload)
          uid, key, sequence, kind, sum, = payload.to_s.split(" ", 6)
          return unless sum && sum == checksum(uid, key, Integer(sequence, exception: false), kind)

          new(uid, key, Integer(sequence), kind, sum)
        end

        def self.checksum(*parts) = format("%08x", Zlib.crc32(parts.join(" ")))

        # @return [Hash] for a producer
        def message(bytes)
          text = "#{uid} #{key} #{sequence} #{kind} #{checksum} "
          {key: key, payload: text.ljust(bytes, "."), headers: {"uid" => uid, "key" => key}}
        end
      end
    end
  end
end
