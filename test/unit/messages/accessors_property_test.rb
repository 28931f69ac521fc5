# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/marks"
require "penstock/consumer/unit_marks"
require "penstock/execution/processes/order_batch"
require "penstock/execution/processes/order_messages"
require "penstock/execution/processes/unit_codec"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/processing/unit"
require "penstock/serialization/deserializers"

module Penstock
  # Each message's accessors return what was written, in any order of calls, after any operation on records (slice, filter,
  # copy, park, hand out again, send to another process). PENSTOCK_PROPERTY_SEED runs one seed.
  class MessageAccessorsPropertyTest < TestCase
    SEEDS = 300
    Lane = Struct.new(:partition, :topic_name, :marks, :adopted_metadata)
    Page = Struct.new(:nothing) do
      def at(_unit, _offset) = nil
    end

    # The value that each accessor must return for the record at an offset.
    TRUTH = {
      offset: ->(row, _taken) { row.offset },
      partition: ->(_row, _taken) { 3 },
      topic: ->(_row, _taken) { "orders" },
      uid: ->(row, _taken) { "orders/3/#{row.offset}" },
      timestamp: ->(row, _taken) { Time.at(0, row.timestamp, :millisecond) },
      timestamp_ms: ->(row, _taken) { row.timestamp },
      leader_epoch: ->(row, _taken) { row.leader_epoch },
      received_at: ->(_row, taken) { Time.at(0, taken, :millisecond) },
      raw_payload: ->(row, _taken) { row.payload },
      raw_key: ->(row, _taken) { row.key },
      raw_headers: ->(row, _taken) { row.headers || {} },
      tombstone?: ->(row, _taken) { row.payload.nil? && !row.key.nil? },
      payload: ->(row, _taken) { row.payload && [row.payload, row.headers.to_h["schema"]] },
      key: ->(row, _taken) { row.key && [:key, row.key] },
      headers: ->(row, _taken) { row.headers&.merge("seen" => row.offset.to_s) }
    }.freeze
    CLEARED = %i[payload raw_payload tombstone?].freeze

    DESERIALIZERS = Serialization::Deserializers.new(
      payload: ->(message) { message.raw_payload && [message.raw_payload, message.headers.to_h["schema"]] },
      key: ->(message) { message.raw_key && [:key, message.raw_key] },
      headers: ->(message) { message.raw_headers.empty? ? nil : message.raw_headers.merge("seen" => message.offset.to_s) }
    )

    # Records of a few takes, and the operations that a seed applies to them.
    class Play
      attr_reader :seen

      def initialize(test, seed)
        @test = test
        @seed = seed
        @random = Random.new(seed)
        @rows = {}
        @offset = pick(5)
        @taken = {}
        @cleared = {}.compare_by_identity
        @seen = 0
      end

      def call
        messages = take
        12.times do
          messages = change(messages)
          look(messages)
        end
      end

      private

      def pick(count) = @random.rand(count)

      def take
        rows = Array.new(1 + pick(9)) { row }
        batch = Messages::MemoryBatch.new("orders", 3, rows, eof: (@offset if pick(2).zero?))
        at = 1_000_000 + pick(1_000)
        rows.each { |each| @taken[each.offset] = at }
        batch.context = Messages::Context.new(DESERIALIZERS, at)
        Messages.new(batch, scheduled_ms: at + 5)
      end

      def row
        headers = {"schema" => "v#{pick(100)}", "many" => %w[a b]} if pick(3).positive?
        payload, key = (pick(8).zero? ? nil : "p#{@offset}".b), (pick(6).zero? ? nil : "k#{@offset}".b)
        row = Messages::MemoryBatch::Row.new(offset: @offset, payload: payload, key: key, headers: headers&.freeze,
          timestamp: 5_000 + pick(900), leader_epoch: pick(4))
        @offset += 1 + pick(3)
        @rows[row.offset] = row
      end

      def change(messages)
        return take if messages.empty?
        case pick(10)
        when 0 then messages.slice(start = pick(messages.size), 1 + pick(messages.size - start))
        when 1 then messages.pick(some(messages))
        when 2 then messages.from_offset(messages.offset_at(pick(messages.size)))
        when 3 then messages.afresh
        when 4 then listed(messages, messages.select { pick(4).positive? })
        when 5 then listed(messages, keyed(messages))
        when 6 then listed(messages, keyed(messages).map(&:detached))
        when 7 then elsewhere(messages)
        when 8 then listed(messages, messages.to_a + take.to_a)
        else touched(messages)
        end
      end

      def some(messages) = (0...messages.size).select { pick(3).positive? }
      def listed(messages, list) = Messages::Listed.new(list, messages.batch, scheduled_ms: 7)

      # As a unit of one key: new views, which forget what was read from them before.
      def keyed(messages)
        messages = messages.afresh # as for a retry: a message that user code froze can't join a unit
        list = Array.new(messages.size) { |index| messages.keyed(index) }
        list.each { |message| ask(message) if pick(2).zero? }
        list.each { |message| message.join(Consumer::UnitMarks.new(nil)) && @cleared.delete(message) } if pick(2).zero?
        list
      end

      # Sent to a process of a pool, and used there as it is unpacked.
      def elsewhere(messages)
        return messages.afresh if messages.any? { |message| message.cleaned? }
        lane = Lane.new(3, "orders", Consumer::Marks.new, nil)
        unit = Processing::Unit.new(lane, :consume, messages, nil, 1)
        codec = Execution::Processes::UnitCodec
        batch = Execution::Processes::OrderBatch.new(codec.decode(codec.encode(1, 0, unit)), Page.new)
        batch.context = Messages::Context.new(DESERIALIZERS)
        Execution::Processes::OrderMessages.new(batch, scheduled_ms: 9)
      end

      # Operations available to user code.
      def touched(messages)
        case pick(5)
        when 0 then messages.each(clean: true) { |message| @cleared[message] = true }
        when 1 then messages.each { |message| cleaned(message) if pick(3).zero? }
        when 2 then messages.each { |message| message.freeze if pick(3).zero? && !message.frozen? }
        when 3 then return listed(messages, messages.map { |message| copied(message) })
        else messages.payloads unless messages.any?(&:cleaned?)
        end
        messages
      rescue FrozenError # user code froze the message
        listed(messages, messages.map(&:afresh))
      end

      def cleaned(message)
        message.clean!(metadata: pick(2).zero?)
        @cleared[message] = true
      end

      def copied(message) = message.dup.tap { |copy| @cleared[copy] = true if message.cleaned? }

      def look(messages)
        check(messages.offsets == messages.map(&:offset), "offsets of #{messages.inspect}")
        messages.each { |message| ask(message) if pick(3).positive? }
        ask(messages[pick(messages.size)]) unless messages.empty?
        ask(messages.last) unless messages.empty?
        facts(messages)
      end

      # In any order, some more than once.
      def ask(message)
        row = @rows.fetch(message.offset)
        check(!message.cleaned? || @cleared.key?(message), "#{message.inspect} is cleared, although nothing cleared it")
        Array.new(1 + pick(8)) { TRUTH.keys[pick(TRUTH.size)] }.each do |name|
          next if CLEARED.include?(name) && message.cleaned?
          @seen += 1
          found, expected = message.public_send(name), TRUTH.fetch(name).call(row, @taken.fetch(row.offset))
          check(found == expected, "#{name} of #{message.inspect} is #{found.inspect}, but #{expected.inspect} was written")
        end
      end

      def facts(messages)
        metadata = messages.metadata
        return if messages.empty?
        check([metadata.size, metadata.first_offset, metadata.last_offset, metadata.topic, metadata.partition] ==
          [messages.size, messages.first.offset, messages.last.offset, "orders", 3], "metadata of #{messages.inspect}")
      end

      def check(holds, what)
        @test.assert holds, -> { "#{what} (seed #{@seed})" }
      end
    end

    test "a message's accessors return what was written, after any operations and in any order of calls" do
      seeds = ENV["PENSTOCK_PROPERTY_SEED"] ? [Integer(ENV["PENSTOCK_PROPERTY_SEED"])] : 1..SEEDS
      seen = seeds.sum { |seed| Play.new(self, seed).tap(&:call).seen }

      assert_operator seen, :>, 100
    end
  end
end
