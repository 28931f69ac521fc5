# frozen_string_literal: true

require "support/consuming"
require "support/rules"

module Penstock
  # Consumers that iterate over their records first and then write them together, with any broker. Including modules define
  # `kafka`, and what {FailingContract} has.
  module BulkContract
    extend TestSupport::Rules

    # A bulk write, of which one record can't be a part.
    class Write
      def initialize(done) = @done = done

      def call(payloads)
        raise ArgumentError, "3 can't be written" if payloads.include?(3)
        @done << payloads
      end
    end

    {
      "payloads are collected": ->(messages, write) { write.call(messages.payloads) },
      "payloads are collected by map": ->(messages, write) { write.call(messages.map(&:payload)) },
      "slices are cut": ->(messages, write) { messages.each_slice(3) { |slice| write.call(slice.map(&:payload)) } },
      "a record is looked for": ->(messages, write) { messages.find { true } && write.call(messages.map(&:payload)) }
    }.each do |name, work|
      rule "where #{name} before all are written together, only the record that can't be written is dead-lettered" do
        topic, dead, written = letters_topics, unique("dead"), queue
        send_records(topic, Array.new(8) { |index| [index.to_s, nil] })
        write = Write.new(written)
        consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }) { work.call(messages, write) }

        await_committed(topic, 8)
        assert_equal ["3"], letters(dead, 1).map(&:raw_payload)
        assert_equal [0, 1, 2, 4, 5, 6, 7], all(written).flatten.uniq.sort
      end
    end
  end
end
