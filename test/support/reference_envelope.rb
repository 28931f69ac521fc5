# frozen_string_literal: true

module Penstock
  module TestSupport
    # The commit envelope implemented a second time, in plain Ruby and from the format's description alone, to compare
    # the C implementation with. Slow and simple.
    module ReferenceEnvelope
      module_function

      def encode(base:, topic:, clean: false, cluster_id: nil, completed: [], attempts: {}, unclean_adoptions: 0,
        crashes: {}, user_metadata: nil)
        binary = [clean ? 1 : 0, base, place(cluster_id, topic)].pack("CQ>N")
        binary << completed_sections(base, completed)
        binary << section(3, attempts_body(base, attempts)) unless attempts.empty?
        if unclean_adoptions.positive? || crashes.any?
          binary << section(4, varint(unclean_adoptions) + attempts_body(base, crashes))
        end
        binary << section(9, user_metadata.b) if user_metadata
        text = "pstk1:#{[binary + [crc32c("pstk1:#{binary}".b)].pack("N")].pack("m0").tr("+/", "-_").delete("=")}"
        text if text.bytesize <= 4_096
      end

      # Only for texts that are complete and of this version.
      def decode(text)
        binary = text.delete_prefix("pstk1:").tr("-_", "+/").unpack1("m")
        flags, base, place = binary.unpack("CQ>N")
        fields = {clean: flags.odd?, base: base, place: place, completed: [], attempts: {}, unclean_adoptions: 0, crashes: {},
                  user_metadata: nil}
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

      # The shortest form: only runs, only a bitmap, or the first n as runs and the rest as a bitmap.
      def completed_sections(base, completed)
        return "" if completed.empty?

        ways = [completed.size, *(0...completed.size)].map { |count| divided(base, completed, count) }
        ways.compact.min_by.with_index { |way, index| [way.bytesize, index] }
      end

      def divided(base, completed, count)
        runs = completed.first(count)
        bits = completed.drop(count)
        return if bits.any? && bits.last.last - bits.first.first > 40_000 # never the shortest

        (runs.empty? ? "" : section(1, runs_body(base, runs))) + (bits.empty? ? "" : section(2, bitmap_body(base, bits)))
      end

      # How many offsets the best division covers in that many bytes, found by trying.
      def most_covered(base, completed, room)
        (0..completed.size).map { |count| covered(base, completed, count, room) }.max
      end

      def covered(base, completed, count, room)
        runs = completed.first(count)
        room -= 3 + runs_body(base, runs).bytesize if count.positive?
        return 0 if room.negative?

        offsets = runs.sum { |from, to| to - from }
        first = completed.drop(count).first&.first or return offsets
        bits = (room - 3 - varint(first - base).bytesize) * 8
        return offsets unless bits.positive?

        offsets + completed.drop(count).sum { |from, to| [[to, first + bits].min - from, 0].max }
      end

      def runs_body(base, completed)
        last = base
        completed.map { |from, to| varint(from - last) + varint((last = to) - from) }.join
      end

      def bitmap_body(base, completed)
        first = completed.first.first
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
        when 1 then fields[:completed] += runs(fields[:base], varints(body))
        when 2 then fields[:completed] += bits(fields[:base], body)
        when 3 then fields[:attempts] = tries(fields[:base], varints(body))
        when 4 then take_crashes(fields, varints(body))
        when 9 then fields[:user_metadata] = body
        end
      end

      def take_crashes(fields, numbers)
        fields[:unclean_adoptions], *pairs = numbers
        fields[:crashes] = tries(fields[:base], pairs)
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
