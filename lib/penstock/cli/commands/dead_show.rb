# frozen_string_literal: true

require_relative "../dead/command"

module Penstock
  module CLI
    module Commands
      # One dead letter with everything it carries.
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

        def number(text) = Integer(text, 10, exception: false) || fail_usage("#{text.inspect} is no number")

        def missing(words)
          warn_user "there is no message at #{words.join("/")}"
          ExitCodes::FAILED
        end

        def as_json(letter, gone)
          record = letter.record
          {**letter.to_h, key: record.raw_key && printable(record.raw_key), headers: headers(record),
                          payload: record.raw_payload && printable(record.raw_payload), **{gone: gone}.compact}
        end

        def print_letter(letter, gone)
          record = letter.record
          say "#{record.uid}#{" (handled)" if letter.handled?}, from #{printable(letter.origin)}, failed #{letter.time}"
          say "key: #{printable(record.raw_key)}"
          headers(record).each { |name, value| say "#{name}: #{value}" }
          say "", printable(record.raw_payload) unless letter.omitted.include?("payload")
          say "", left_out(letter, gone) if letter.reference?
        end

        def left_out(letter, gone)
          bytes = letter.source.payload_bytes
          whereabouts = gone ? "That can't be had any more: #{gone}" : "`penstock dead replay` reads it at #{letter.origin}"
          printable("(too large: left out is its #{letter.omitted.join(" and its ")}, the payload has #{bytes.to_i} bytes. " \
            "#{whereabouts})")
        end

        def headers(record)
          (record.raw_headers || {}).to_h { |name, value|
            [printable(name), Array(value).map { |one|
              printable(one)
            }.join(", ")]
          }
        end
      end
    end
  end
end
