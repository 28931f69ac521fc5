# frozen_string_literal: true

require_relative "../dead/command"
require_relative "../record_fields"

module Penstock
  module CLI
    module Commands
      # Shows one dead letter with its headers, key and payload.
      class DeadShow < Dead::Command
        command "dead show", "Shows one dead letter", usage: "TOPIC PARTITION OFFSET [options]", arguments: 3..3

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:json, "--json", "as JSON")
        end

        def call(words)
          topic, partition, offset = words
          place = {partition: number(partition), offset: number(offset), all: true}
          session = session(topic, **place)
          letter = session.enum_for(:each).first
          return missing(words) unless letter

          gone = session.gone(letter) if letter.reference?
          options[:json] ? say_json(as_json(letter, gone)) : print_letter(letter, gone)
        end

        def number(text) = Integer(text, 10, exception: false) || fail_usage("#{text.inspect} is not a number")

        def missing(words)
          warn_user "there is no message at #{words.join("/")}"
          ExitCodes::FAILED
        end

        def as_json(letter, gone)
          {**letter.to_h, **RecordFields.of(letter.record), **{gone: gone}.compact}
        end

        def print_letter(letter, gone)
          record = letter.record
          say "#{record.uid}#{" (handled)" if letter.handled?}, from #{Printable.line(letter.origin)}, failed #{letter.time}"
          say "key: #{record.raw_key ? Printable.line(record.raw_key, nil) : "-"}"
          headers(record).each { |line| say line }
          say "", record.raw_payload || "-" unless letter.omitted.include?("payload")
          say "", Printable.line(left_out(letter, gone)) if letter.reference?
        end

        def left_out(letter, gone)
          bytes = letter.source.payload_bytes
          whereabouts = gone ? "It is no longer available: #{gone}" : "`penstock dead replay` reads it at #{letter.origin}"
          "(too large: its #{letter.omitted.join(" and its ")} was left out, the payload has #{bytes.to_i} bytes. #{whereabouts})"
        end

        def headers(record)
          (record.raw_headers || {}).map do |name, value|
            "#{Printable.line(name)}: #{Array(value).map { |one| Printable.line(one, nil) }.join(", ")}"
          end
        end
      end
    end
  end
end
