# frozen_string_literal: true

module Penstock
  # Makes text from outside (payloads, keys, names, error messages) safe to print: valid UTF-8, bounded, and without any
  # character that moves a cursor, starts another line or reverses the direction of writing. Every line of a log and of the
  # command line goes through here. Such characters are shown as escapes: `\e`, `\n`, `\x07`, `\u202E`; a byte that isn't
  # UTF-8 as `\xFF`. Text without them is returned as it is, so applying it twice changes nothing.
  #
  # Nothing here raises, even if `to_s` or `message` of a value does. Stateless; any thread.
  module Printable
    # Longest text of one line, in bytes.
    LINE_BYTES = 2_048
    # Longest text of several lines, such as an error with its backtrace, in bytes.
    TEXT_BYTES = 65_536
    # Longest name (a class, a topic) in a line, in bytes.
    NAME_BYTES = 250

    # Control characters (C0, DEL, C1), line separators, and invisible format characters, which include all that change the
    # direction of writing. The two joiners are part of ordinary words in some scripts, and of emoji.
    UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}&&[^\u200C\u200D]]/
    UNSAFE_IN_LINES = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}&&[^\u200C\u200D\n]]/
    # The same for text that is ASCII only, which most is: several times as fast.
    ASCII_UNSAFE = /[\x00-\x1F\x7F]/
    ASCII_UNSAFE_IN_LINES = /[\x00-\x09\x0B-\x1F\x7F]/
    NAMED = {"\e" => '\e', "\n" => '\n', "\r" => '\r', "\t" => '\t'}.freeze
    # Text in these encodings is treated as UTF-8; others are converted.
    TAKEN_FOR_UTF8 = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].freeze
    SNIPPET = /\n\n[^\n]*\n *\^+[~^]*(?=\n|\z)/
    SUGGESTION = /\nDid you mean\?\s+(?<names>\S[^\n]*(?:\n +\S[^\n]*)*)\z/
    private_constant :SNIPPET, :SUGGESTION
    private_constant :UNSAFE, :UNSAFE_IN_LINES, :ASCII_UNSAFE, :ASCII_UNSAFE_IN_LINES, :NAMED, :TAKEN_FOR_UTF8

    class << self
      # @param value [Object] anything; its `to_s` is used
      # @param limit [Integer, nil] bytes of the result, at least 40; nil for no limit
      # @return [String] one line of valid UTF-8
      def line(value, limit = LINE_BYTES) = safe(value, limit, UNSAFE)

      # @param value [Object] anything; its `to_s` is used
      # @param limit [Integer, nil] bytes of the result, at least 40; nil for no limit
      # @return [String] the same with its line breaks (`\n`)
      def lines(value, limit = TEXT_BYTES) = safe(value, limit, UNSAFE_IN_LINES)

      # One entry of a log: lines after the first are indented, so that none can pass for another entry.
      # @param value [Object]
      # @param limit [Integer] bytes before the indentation
      # @return [String]
      def entry(value, limit = TEXT_BYTES)
        text = lines(value, limit)
        text.include?("\n") ? text.gsub(/\n(?!  |\z)/, "\n  ") : text
      end

      # @param error [Exception, Object]
      # @param limit [Integer] bytes of its message
      # @return [String] "IOError: closed stream"; a value that isn't an exception as with {line}
      def error(error, limit = LINE_BYTES)
        return line(error, limit) unless error.is_a?(Exception)

        "#{line(error.class, NAME_BYTES)}: #{message(error, limit)}"
      end

      # @param error [Exception, nil]
      # @param limit [Integer] bytes
      # @return [String] its message in one line; empty for nil
      def message(error, limit = LINE_BYTES) = line(without_snippet(text_of { error&.message }), limit)

      # @param value [Object]
      # @param limit [Integer, nil] bytes; nil for no limit
      # @return [String] as `inspect` shows it; of a String only the shown part is processed
      def inspect(value, limit = NAME_BYTES)
        return line(text_of { value.inspect }, limit) unless value.is_a?(String)

        line("\"#{line(value, limit && (limit - 2))}\"", limit)
      end

      # Any value as JSON that a terminal can show: keys and texts are made valid UTF-8, values without a JSON form become text
      # or null, and characters that control a terminal are written as JSON's own escapes.
      # @param value [Object]
      # @param pretty [Boolean] with indentation
      # @return [String]
      def json(value, pretty: false)
        require "json"
        plain = plain(value)
        text = pretty ? JSON.pretty_generate(plain) : JSON.generate(plain)
        text.gsub(UNSAFE_IN_LINES) { |character| json_escape(character) }
      end

      # @param text [String]
      # @return [String] valid UTF-8, with `\xFF` for each byte that isn't
      def utf8(text)
        return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?

        converted(text).scrub { |bytes| bytes.unpack("C*").map { |byte| format('\x%02X', byte) }.join }
      end

      private

      def safe(value, limit, unsafe)
        text = text_of { value }
        size = text.bytesize
        text = head(text, limit) if limit && size > limit
        text = escape(utf8(text), text.ascii_only? ? ascii(unsafe) : unsafe)
        return text if limit.nil? || (size <= limit && text.bytesize <= limit)

        mark = "… (#{size} bytes)"
        "#{head(text, limit - mark.bytesize)}#{mark}"
      end

      # Ruby 3.1 to 3.3 append a piece of the source to some messages, and suggestions, each on lines of its own. The place is
      # in the backtrace.
      def without_snippet(text)
        return text unless text.encoding.ascii_compatible? && text.valid_encoding? && text.include?("\n")

        text.sub(SNIPPET, "").sub(SUGGESTION) { ". Did you mean #{$~[:names].split(/\s*\n\s*/).join(" or ")}?" }
      end

      # @yieldreturn [Object]
      # @return [String] a plain one, also for subclasses of String
      def text_of
        "#{yield}" # rubocop:disable Style/RedundantInterpolation -- to_s may not return a String
      rescue StandardError, ScriptError, SystemStackError => error
        "(its text can't be read: it raised #{error.class.name})"
      end

      def ascii(unsafe) = unsafe.equal?(UNSAFE) ? ASCII_UNSAFE : ASCII_UNSAFE_IN_LINES

      def escape(text, unsafe)
        return text unless unsafe.match?(text)

        text.gsub(unsafe) { |character| NAMED.fetch(character) { escaped(character.ord) } }
      end

      def escaped(code)
        return format('\x%02X', code) if code < 0x80

        format((code > 0xFFFF) ? '\u{%X}' : '\u%04X', code)
      end

      # @return [String] at most that many bytes from the front, without half a character at its end
      def head(text, bytes)
        part = text.byteslice(0, bytes)
        return part unless TAKEN_FOR_UTF8.include?(text.encoding)

        back = [4, bytes].min.times.find { |count| (text.getbyte(bytes - count).to_i & 0xC0) != 0x80 }
        back.to_i.zero? ? part : text.byteslice(0, bytes - back)
      end

      def converted(text)
        return String.new(text, encoding: Encoding::UTF_8) if TAKEN_FOR_UTF8.include?(text.encoding)

        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
      rescue EncodingError
        String.new(text, encoding: Encoding::UTF_8)
      end

      def plain(value)
        case value
        when nil, true, false, Integer then value
        when Float then value.finite? ? value : nil
        when Hash then value.to_h { |key, one| [utf8(text_of { key }), plain(one)] }
        when Array then value.map { |one| plain(one) }
        else utf8(text_of { value })
        end
      end

      def json_escape(character)
        character.encode(Encoding::UTF_16BE).unpack("n*").map { |unit| format('\u%04x', unit) }.join
      end
    end
  end
end
