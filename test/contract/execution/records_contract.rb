# frozen_string_literal: true

require "support/executing"
require "support/rules"

module Penstock
  # How user code reads records wherever it runs: on a thread, in a fiber, in a process of its own. Including modules define
  # `executor(middleware, size)`.
  module RecordsContract
    extend TestSupport::Rules

    rule "records arrive as they were taken, and success is an outcome without an error" do
      executing do
        def consume
          messages.each { |message| log(message.offset, message.payload["offset"], message.raw_key, message.timestamp_ms) }
          log(topic.name, partition, attempt, messages.size, messages.metadata.scheduled_at.to_i, retrying?, used?, eofed?)
        end
      end
      result = run_unit([7, 8], attempt: 2)

      assert_nil result.error
      assert result.finished
      assert_nil result.flow
      assert_equal ["7 7 k7 1007", "8 8 k8 1008", "orders 0 2 2 6 true true false"], Array.new(3) { told }
    end

    rule "bytes arrive unchanged: no payload, binary keys, headers that occur twice, a tombstone" do
      executing do
        def consume
          message = messages.first
          log(message.raw_payload.inspect, message.raw_key.bytes.inspect, message.raw_headers.inspect, message.leader_epoch,
            message.raw_key.encoding, message.received_at.to_i)
        end
      end
      run_unit([1], payload: nil, key: "\xFF\x00".b, headers: {"a" => ["1", nil], "b" => "ü".b})

      assert_equal ["nil", "[255,", "0]"], told.split.first(3)
    end

    rule "records of several takes have their own key, headers, payload and time of receipt" do
      executing do
        def consume
          messages.each { |message| log(message.key, message.headers["n"], message.payload["offset"], message.received_at.to_i) }
          log(messages[1].raw_headers["n"].frozen?, messages[1].raw_headers["twice"].all?(&:frozen?))
        end
      end
      place = lane
      takes = [[3, 5], [9, 7]].map do |offset, received_s|
        messages(place, [offset], headers: {"n" => "h#{offset}".freeze, "twice" => %w[a b].each(&:freeze)}).tap do |taken|
          taken.batch.context = Messages::Context.new(@topic.deserializers, received_s * 1_000, place.marks)
        end
      end
      listed = Messages::Listed.new(takes.flat_map(&:to_a), takes.first.batch, scheduled_ms: 6_000)
      push(place, Processing::Unit.new(place, :consume, listed, 10, 1, 0))

      assert_nil outcome.error
      assert_equal ["k3 h3 3 5", "k9 h9 9 7", "true true"], Array.new(3) { told }
    end
  end
end
