# frozen_string_literal: true

require "support/consuming"
require "support/rules"

module Penstock
  # Expectations of Karafka's users about the names of a consumer, its hooks, messages and events: each holds, or is refused
  # with a hint. With any broker; including modules define `kafka`.
  module KnownConsumerContract
    extend TestSupport::Rules

    MANUAL = ->(_route) { manual_offset_management true }

    rule "pause(offset) without a time lasts as long as pause.timeout, without back-off, and again each time" do
      topic, seen, waits = topic_with(4), queue, queue
      config = ->(config) { config.pause.timeout = 60 }
      running = consuming(topic, config: config, max_messages: 1) do
        seen << messages.first.offset
        pause(messages.first.offset + 1)
      end
      running.application.monitor.subscribe("consumer.consuming.pause") { |event| waits << [event[:manual], event[:timeout]] }

      assert_equal [0, 1, 2, 3], take(seen, 4)
      assert_equal [[true, 60]] * 2, take(waits, 2)
    end

    rule "pause without a time lasts as long as the pause of the route, if it has one" do
      topic, waits = topic_with(2), queue
      running = consuming(topic, ->(_route) { pause timeout: 70, max_timeout: 500 }) { pause }
      running.application.monitor.subscribe("consumer.consuming.pause") { |event| waits << event[:timeout] }
      produce(topic, %w[more])

      assert_includes take(waits, 1), 70
    end

    rule "pause with an infinite time lasts until resume" do
      topic, seen, consumers = topic_with(1), queue, queue
      consuming(topic) do
        seen << messages.first.offset
        next unless messages.first.offset.zero?
        consumers << self
        pause(1, Float::INFINITY)
      end
      take(seen, 1)
      produce(topic, %w[1])
      observe_for(0.6)
      assert_empty seen, "a pause of 20 ms has passed"
      consumers.pop.resume

      assert_equal [1], take(seen, 1)
    end

    rule "in shutdown, messages are those of the last batch, and a mark of the last one is committed" do
      topic, seen = topic_with(3), queue
      shutdown = -> { seen << [messages.map(&:offset).last, messages.size.positive?, mark_as_consumed!(messages.last)] }
      running = consuming(topic, MANUAL, hooks: {shutdown: shutdown}) { messages.each { |message| seen << message.offset } }
      assert_equal [0, 1, 2], take(seen, 3)
      running.stop

      assert_equal [[2, true, true]], take(seen, 1)
      assert_equal 3, committed(topic)
    end

    rule "in shutdown after an error, a mark of the last message returns false and loses nothing" do
      topic, seen = topic_with(3), queue
      config = ->(config) { config.pause.timeout = config.pause.max_timeout = 60_000 }
      shutdown = -> { seen << [messages.to_a.last.offset, mark_as_consumed(messages.last)] }
      by_message = ->(_route) { parallel by: :message }
      [MANUAL, ->(_route) {}, by_message].each do |options|
        @group = nil
        others = queue
        running = consuming(topic, options, config: config, hooks: {shutdown: shutdown}) do
          next others << :done if messages.none? { |message| message.offset == 2 }
          # By message any order is possible, and an instance that ran another record last would answer for that one.
          TestSupport::Wait.wait_until(10, "the other records") { others.size == 2 } if options.equal?(by_message)
          seen << :failing
          raise "not this one"
        end
        assert_equal [:failing], take(seen, 1)
        wait_until(20, "the error is settled") do
          lane = running.application.snapshot.first[:lanes].first
          lane[:in_flight].zero?
        end
        running.stop

        marked = take(seen, seen.size).sort
        assert_equal [2, false], marked.pop, "the failed record"
        # By message others may have run in instances of their own, which are asked for theirs.
        marked.reject! { |offset, done| offset < 2 && done } if options.equal?(by_message)
        assert_empty marked
        assert_operator committed(topic), :<, 3
      end
    end

    rule "in revoked, messages are those of the last batch, and a mark of the last one counts for the next owner" do
      topic, seen = topic_with(1, partitions: 2), queue
      produce(topic, %w[0], partition: 1)
      hooks = {revoked: -> { seen << [:revoked, partition, messages.map(&:offset), mark_as_consumed(messages.last)] }}
      kafka = {"heartbeat.interval.ms": 200}
      consuming(topic, MANUAL, hooks: hooks, kafka: kafka) { seen << [partition, messages.first.offset] }
      assert_equal [[0, 0], [1, 0]], take(seen, 2).sort
      consuming(topic, MANUAL, kafka: kafka) { seen << [:again, partition, messages.first.offset] }
      kind, moved, offsets, marked = take(seen, 1, 60).first
      produce(topic, %w[1], partition: moved)

      assert_equal [:revoked, [0], true], [kind, offsets, marked]
      assert_equal [[:again, moved, 1]], take(seen, 1)
    end

    rule "in eofed, messages are those of the last batch; eofed? is true there, and in shutdown" do
      topic, seen, got, count = unique("topic").tap { |name| create_topic(name, 1) }, queue, [], 0
      note = ->(kind) { ->(*) { seen << [kind, eofed?, messages.map(&:offset)] } }
      hooks = {eofed: note.call(:eofed), shutdown: note.call(:shutdown)}
      running = consuming(topic, ->(_route) { eofed true }, hooks: hooks, &note.call(:consume))
      assert_equal [[:eofed, true, []]], take(seen, 1), "before the first batch there are none"
      # An end that comes together with records doesn't call the hook: so records are sent until one came alone.
      wait_until(40, "an end after records", state: -> { got }, every: 0.5) do
        produce(topic, [(count += 1).to_s])
        got.concat(all(seen)).any? { |kind, _end, offsets| kind == :eofed && offsets.any? }
      end
      wait_until(20, "the last record's end", state: -> { got }) do
        got.concat(all(seen)).last.then { |_kind, ended, offsets| ended && offsets.last == count - 1 }
      end
      running.stop
      got.concat(all(seen))
      alone = got.index { |kind, _end, offsets| kind == :eofed && offsets.any? }

      assert_equal got.take(alone).reverse.find { |kind, *| kind == :consume }.last, got[alone].last
      assert_equal [:shutdown, true, [count - 1]], got.last.then { |kind, ended, offsets| [kind, ended, offsets.last(1)] }
    end

    rule "a seek with reset_offset: false is refused with what to do, and the offset doesn't move" do
      topic, errors = topic_with(5), queue
      running = consuming(topic) { seek(0, reset_offset: false) }
      running.application.monitor.subscribe("error.occurred") { |event| errors << event[:error] }
      error = take(errors, 1).first

      assert_kind_of UnsupportedCaseError, error
      assert_match(/seek\(0, reset_offset: false\) is not possible.*call seek without reset_offset/, error.message)
    end

    rule "payload, key and headers may be changed, as often as they are read; what was read is kept" do
      topic, seen = unique("topic").tap { |name| create_topic(name, 1) }, queue
      produce_keyed(topic, [%w[k payload]], headers: {"trace" => "1"})
      consuming(topic, ->(_route) { deserializer Serialization::Raw.new }) do
        message = messages.first
        message.payload << "!"
        message.key.force_encoding(Encoding::UTF_8) << "?"
        message.headers["more"] = "2"
        message.headers["trace"] << "0"
        seen << [message.payload, message.key, message.headers, message.raw_payload, message.raw_key, message.raw_headers]
      end

      assert_equal [["payload!", "k?", {"trace" => "10", "more" => "2"}, "payload", "k", {"trace" => "1"}]], take(seen, 1)
    end

    rule "a change of raw_payload is refused, and the log has the way out" do
      topic, log = topic_with(1), StringIO.new
      config = lambda do |config|
        config.logger = Logger.new(log)
      end
      running = consuming(topic, config: config) { messages.first.raw_payload << "!" }
      running.application.monitor.subscribe(Instrumentation::LoggerListener.new(running.application.logger))
      wait_until(20, "the line") { log.string.include?("take a copy (raw_payload.dup)") }

      assert_match(/FrozenError: .*raw_payload, raw_key and raw_headers of a message are frozen/, log.string)
    end

    rule "what only Karafka's consumers have is refused with the way out" do
      topic, seen = topic_with(1), queue
      asked = {client: "pause, resume, seek", coordinator: "attempt and retrying?", seek_offset: "seek(messages.first_offset)"}
      consuming(topic) do
        seen << asked.keys.map do |name|
          public_send(name)
        rescue NoMethodError => error
          error.message
        end
      end
      messages = take(seen, 1).first

      assert(asked.values.zip(messages).all? { |way_out, message| message.include?(way_out) }, messages)
    end

    rule "marking nothing is an error with a message of its own" do
      topic, seen = topic_with(1), queue
      consuming(topic, MANUAL) do
        mark_as_consumed([].last)
      rescue ArgumentError => error
        seen << error.message
      end

      assert_equal ["a message can be marked, such as messages.last, not nil"], take(seen, 1)
    end

    rule "every reader of a consumer answers as its users know it" do
      topic, seen = topic_with(2), queue
      consuming(topic, max_messages: 2) do
        seen << {id: id.is_a?(String), topic: self.topic.name, partition: partition, attempt: attempt, retrying: retrying?,
                 used: used?, revoked: revoked?, collapsed: collapsed?, insights: insights,
                 insights?: insights?, statistics: statistics,
                 statistics?: statistics?, inline_insights: inline_insights, inline_insights?: inline_insights?,
                 errors: errors_tracker.size, metadata: offset_metadata, tags: tags.to_a, inspect: inspect}
      end
      got = take(seen, 1).first

      assert_equal({id: true, topic: topic, partition: 0, attempt: 1, retrying: false, used: true, revoked: false,
        collapsed: false, insights: {}, insights?: false, statistics: {}, statistics?: false, inline_insights: {},
        inline_insights?: false, errors: 0, metadata: nil, tags: []}, got.except(:inspect))
      assert_operator got[:inspect].size, :<, 200
    end

    rule "tags are added, replaced, deleted and cleared, and an event's consumer has them" do
      topic, seen = topic_with(1), queue
      running = consuming(topic) do
        tags.add(:tenant, "acme")
        tags.add(:tenant, "initech")
        tags.add(:kind, :slow)
        tags.delete(:kind)
      end
      running.application.monitor.subscribe("consumer.consumed") { |event| seen << event[:caller].tags.to_a }
      produce(topic, %w[1])

      assert_equal [%w[initech]], take(seen, 1)
    end

    rule "messages are an Enumerable with metadata; a message's metadata has the message's readers" do
      topic, seen = unique("topic").tap { |name| create_topic(name, 1) }, queue
      produce_keyed(topic, [["k", "1"], ["k", "2"]], headers: {"h" => "v"})
      consuming(topic, ->(_route) { batch min: 2, within: 5_000 }) do
        first = messages.metadata
        one = messages.first.metadata
        seen << [messages.count, messages.size, messages.payloads, messages.raw_payloads, messages.to_a.map(&:offset),
          messages.deserialize!.first.deserialized?, messages.empty?, messages[1].offset,
          [first.size, first.first_offset, first.last_offset, first.topic, first.partition],
          [first.created_at, first.scheduled_at, first.processed_at].map(&:class), first.consumption_lag >= 0,
          first.processing_lag >= 0,
          [one.topic, one.partition, one.offset, one.key, one.headers, one.raw_key, one.raw_headers],
          [one.timestamp, one.received_at].map(&:class), one.deserializers.class, one.message.equal?(messages.first)]
      end

      assert_equal [2, 2, [1, 2], %w[1 2], [0, 1], true, false, 1, [2, 0, 1, topic, 0], [Time] * 3, true, true,
        [topic, 0, 0, "k", {"h" => "v"}, "k", {"h" => "v"}], [Time] * 2, Serialization::Deserializers, true], take(seen, 1).first
    end

    rule "marks and commits return true while the partition is ours; a mark of an earlier message changes nothing" do
      topic, seen = topic_with(3), queue
      running = consuming(topic, MANUAL) do
        next unless messages.last.offset == 2
        seen << [mark_as_consumed(messages.last), mark_as_consumed(messages.first), mark_as_consumed!(messages.last),
          commit_offsets, commit_offsets(async: false), commit_offsets!]
      end

      assert_equal [[true] * 6], take(seen, 1)
      running.stop
      assert_equal 3, committed(topic)
    end

    rule "a consumer without consume, or with a private one, is refused at boot; hooks may be private" do
      topic, seen = topic_with(1), queue
      refusal = lambda do |consumer|
        assert_raises(ConfigurationError) { build(topic, consumer, ->(_) {}, ->(_) {}, {}).run!(traps: false) }.message
      end
      assert_match(/has no method `consume`. Define it/, refusal.call(Class.new(BaseConsumer)))
      assert_match(/is private. Move it above `private`/, refusal.call(Class.new(BaseConsumer) { private def consume = nil }))
      private_hooks = Class.new(BaseConsumer) do
        %i[initialized consume shutdown].each { |name| define_method(name) { seen << name } }
        private :initialized, :shutdown
      end
      running = yield_running(build(topic, private_hooks, ->(_) {}, ->(_) {}, {}))
      assert_equal %i[initialized consume], take(seen, 2)
      running.stop
      assert_equal %i[shutdown], take(seen, 1)
    end

    rule "wrap surrounds every action, and gets its name" do
      topic, seen = topic_with(1), queue
      wrap = lambda do |action, &block|
        seen << [:before, action]
        block.call
        seen << [:after, action]
      end
      running = consuming(topic, hooks: {wrap: wrap}) { seen << :consume }
      assert_equal [[:before, :consume], :consume, [:after, :consume]], take(seen, 3)
      running.stop

      assert_equal [[:before, :shutdown], [:after, :shutdown]], take(seen, 2)
    end

    rule "an error doesn't reach wrap: a rescue in it loses nothing, and the code after its yield runs" do
      topic, seen = topic_with(3), queue
      create_topic(dead = unique("dead"), 1)
      wrap = lambda do |action, &job|
        job.call
        seen << [:after, action]
      rescue => error
        seen << error
      end
      running = consuming(topic, ->(_route) { dead_letter_queue topic: dead, max_retries: 1 }, hooks: {wrap: wrap},
        max_messages: 1) do
        seen << [messages.first.raw_payload, attempt]
        raise "bad" if messages.first.raw_payload == "1"
      end
      dispatched = queue
      running.application.monitor.subscribe("dead_letter_queue.dispatched") { |event| dispatched << event[:offset] }

      assert_equal ["0", "1", "1", "2"].zip([1, 1, 2, 1]).flat_map { |call| [call, %i[after consume]] }, take(seen, 8)
      assert_equal [1], take(dispatched, 1)
      assert_equal %w[bad bad], take(running.errors, 2).map { |event| event[:error].message }
    end

    rule "the events of pauses, retries, seeks and throttling have the consumer, the message, the time and the attempt" do
      topic, seen, calls = topic_with(3), queue, 0
      running = consuming(topic, ->(_route) { throttle limit: 2, interval: 300 }, max_messages: 1) do
        case calls += 1
        when 1 then raise "no"
        when 2 then pause(messages.first.offset, 30)
        when 3 then seek(messages.first.offset)
        end
      end
      names = %w[consumer.consuming.pause consumer.consuming.retry consumer.consuming.seek filtering.throttled]
      names.each do |name|
        running.application.monitor.subscribe(name) do |event|
          seen << [name.split(".").last, event[:caller]&.topic&.name, event[:message]&.offset, event[:timeout], event[:attempt]]
        end
      end
      found = []
      wait_until(40, "an event of each", state: -> { found }) do
        found.concat(all(seen)).map(&:first).then { |kinds| kinds.uniq.size == 4 && kinds.count("pause") > 1 }
      end

      assert_equal [["pause", topic, nil, 40, 1], ["retry", topic, nil, 40, 2], ["pause", topic, nil, 30, 2]],
        found.select { |name,| %w[pause retry].include?(name) }.first(3)
      assert_equal ["seek", topic, 0, nil, nil], found.assoc("seek")
      assert_equal ["throttled", 2], found.assoc("throttled").values_at(0, 2)
    end

    rule "dispatch_to_dlq exists where the route has dead letters, and only there" do
      topic, letters, seen = topic_with(1), unique("letters").tap { |name| create_topic(name, 1) }, queue
      running = consuming(topic, ->(_route) { dead_letter_queue(topic: letters) }) do
        seen << respond_to?(:dispatch_to_dlq)
        dispatch_to_dlq(messages.first)
      end
      assert_equal [true], take(seen, 1)
      running.stop
      plain = topic_with(1)
      consuming(plain) { seen << respond_to?(:dispatch_to_dlq) }
      assert_equal [false], take(seen, 1)
      consuming(letters) { seen << messages.first.raw_payload }

      assert_equal ["0"], take(seen, 1)
    end

    rule "a stop publishes that the partitions are revoked: before, and after the group was left" do
      topic, seen = topic_with(1), queue
      running = consuming(topic, hooks: {shutdown: -> { seen << :shutdown }}) { seen << :consumed }
      assert_equal [:consumed], take(seen, 1)
      %w[partitions_revoke partitions_revoked].each do |name|
        running.application.monitor.subscribe("rebalance.#{name}") do |event|
          seen << [name, event[:tpl], event[:lost], event[:client_id].is_a?(String), event[:consumer_group_id]]
        end
      end
      running.stop

      place = [[[topic, 0]], false, true, group]
      assert_equal [:shutdown, ["partitions_revoke", *place], ["partitions_revoked", *place]], all(seen)
    end

    rule "partition.starved isn't published while records are consumed" do
      topic, seen, warned = unique("topic").tap { |name| create_topic(name, 1) }, queue, queue
      running = consuming(topic) { seen << messages.size }
      running.application.monitor.subscribe("partition.starved") { |event| warned << event.payload }
      8.times do
        produce(topic, %w[a])
        observe_for(1.05)
      end
      take(seen, 1)

      assert_empty warned
    end
  end
end
