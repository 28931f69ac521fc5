# frozen_string_literal: true

module Penstock
  module TestSupport
    # The commit envelope written a second time, in plain Ruby and from the format's description alone: what the one in C is
    # compared with. Slow, and clear.
    module ReferenceEnvelope
      module_function

      def encode(base:, topic:, clean: false, cluster_id: nil, completed: [], attempts: {}, user_metadata: nil)
        binary = [clean ? 1 : 0, base, place(cluster_id, topic)].pack("CQ>N")
        binary << section(*completed_section(base, completed)) unless completed.empty?
        binary << section(3, attempts_body(base, attempts)) unless attempts.empty?
        binary << section(9, user_metadata.b) if user_metadata
        text = "pstk1:#{[binary + [crc32c("pstk1:#{binary}".b)].pack("N")].pack("m0").tr("+/", "-_").delete("=")}"
        text if text.bytesize <= 4_096
      end

      # Only for texts that are whole and of this version.
      def decode(text)
        binary = text.delete_prefix("pstk1:").tr("-_", "+/").unpack1("m")
        flags, base, place = binary.unpack("CQ>N")
        fields = {clean: flags.odd?, base: base, place: place, completed: [], attempts: {}, user_metadata: nil}
        sections(binary[13...-4]) { |type, body| take(fields, type, body) }
        fields
      end

      def place(cluster_id, topic)
        crc32c("#{cluster_id}\0#{topic}".b)
      end

      def crc32c(bytes)
        bytes.each_byte.inject(0xffffffff) do |crc, byte|
          8.times.inject(crc ^ byte) { |value, _| value.odd? ? (value >> 1) ^ 0x82f63b78 : value >> 1 }
        end ^ 0xffffffff
      end

      def section(type, body)
        [type, body.bytesize].pack("Cn") + body
      end

      def completed_section(base, completed)
        runs = runs_body(base, completed)
        bitmap = bitmap_body(base, completed)
        (runs.bytesize <= bitmap.bytesize) ? [1, runs] : [2, bitmap]
      end

      def runs_body(base, completed)
        last = base
        completed.map { |from, to| varint(from - last) + varint((last = to) - from) }.join
      end

      def bitmap_body(base, completed)
        first = completed.first.first
        return "\0" * 100_000 if completed.last.last - first > 400_000 # never the smaller one

        bits = completed.inject(0) { |map, (from, to)| map | (((1 << (to - from)) - 1) << (from - first)) }
        varint(first - base) + bits.digits(256).pack("C*")
      end

      def attempts_body(base, attempts)
        last = base
        attempts.map do |offset, count|
          gap = offset - last
          last = offset + 1
          varint(gap) + varint(count)
        end.join
      end

      def varint(value)
        bytes = [value & 127]
        bytes << (value & 127) while (value >>= 7).positive?
        bytes[0..-2].map { |byte| byte | 128 }.push(bytes.last).pack("C*")
      end

      def sections(binary)
        until binary.empty?
          type, size = binary.unpack("Cn")
          yield type, binary[3, size]
          binary = binary[(3 + size)..]
        end
      end

      def take(fields, type, body)
        case type
        when 1 then fields[:completed] = runs(fields[:base], varints(body))
        when 2 then fields[:completed] = bits(fields[:base], body)
        when 3 then fields[:attempts] = tries(fields[:base], varints(body))
        when 9 then fields[:user_metadata] = body
        end
      end

      def varints(body)
        numbers = []
        shift = value = 0
        body.each_byte do |byte|
          value |= (byte & 127) << shift
          next shift += 7 if byte > 127

          numbers << value
          shift = value = 0
        end
        numbers
      end

      def runs(last, numbers)
        numbers.each_slice(2).map { |gap, length| [last + gap, last = last + gap + length] }
      end

      def tries(last, numbers)
        numbers.each_slice(2).to_h do |gap, count|
          offset = last + gap
          last = offset + 1
          [offset, count]
        end
      end

      def bits(base, body)
        size = body.each_byte.take_while { |byte| byte > 127 }.size + 1
        first = base + varints(body[0, size]).first
        set = body[size..].each_byte.flat_map { |byte| Array.new(8) { |bit| byte[bit] == 1 } }
        offsets = set.each_index.select { |index| set[index] }.map { |index| first + index }
        offsets.slice_when { |left, right| right != left + 1 }.map { |run| [run.first, run.last + 1] }
      end
    end
  end
end
