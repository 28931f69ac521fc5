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
          letter = session(topic, **place).enum_for(:each).first
          return missing(words) unless letter

          options[:json] ? say_json(as_json(letter)) : print_letter(letter)
        end

        def number(text) = Integer(text, 10, exception: false) || fail_usage("#{text.inspect} is no number")

        def missing(words)
          warn_user "there is no message at #{words.join("/")}"
          ExitCodes::FAILED
        end

        def as_json(letter)
          record = letter.record
          {**letter.to_h, key: record.raw_key && printable(record.raw_key), headers: headers(record),
                          payload: record.raw_payload && printable(record.raw_payload)}
        end

        def print_letter(letter)
          record = letter.record
          say "#{record.uid}#{" (handled)" if letter.handled?}, from #{letter.origin}, failed #{letter.time}"
          say "key: #{printable(record.raw_key)}"
          headers(record).each { |name, value| say "#{name}: #{value}" }
          say "", printable(record.raw_payload)
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
