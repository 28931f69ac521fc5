# frozen_string_literal: true

require "penstock/native/envelope"
require "penstock/native/ledger"
require "support/consuming"
require "support/native_member"
require "support/rules"

module Penstock
  # Options of routes that need neither keys nor dead letters, and where user code runs; with any broker.
  module OptionsContract
    extend TestSupport::Rules

    rule "[granular backoff] a topic with a constant 100 ms, and another pause for one class of errors" do
      topic, waits = topic_with(1), queue
      options = lambda do |_route|
        pause timeout: 100, max_timeout: 10_000, with_exponential_backoff: false
        backoff_for(KeyError) { |error, attempt| error.message.to_i + attempt }
      end
      running = consuming(topic, options) do
        next if attempt > 4
        raise (attempt == 2) ? KeyError.new("140") : "no"
      end
      running.application.monitor.subscribe("consumer.consuming.pause") { |event| waits << event[:timeout] }

      assert_equal 1, committed_at(topic, 1)
      told = all(waits)
      assert_equal [100, 142, 100, 100].last(told.size), told
      assert_operator told.size, :>=, 3, "who subscribes beside the start may miss the first"
    end

    rule "[errors_tracker] in the record's next attempts it has the errors since the last success" do
      topic, seen = topic_with(2), queue
      consuming(topic, max_messages: 1) do
        seen << [messages.first.offset, attempt, errors_tracker.size, errors_tracker.last&.message]
        raise "no #{attempt}" if messages.first.offset.zero? && attempt < 3
      end

      assert_equal [[0, 1, 0, nil], [0, 2, 1, "no 1"], [0, 3, 2, "no 2"], [1, 1, 0, nil]], take(seen, 4)
    end

    rule "[adaptive iterator] each marks after the block and cleans the message; messages not yielded yet are run again" do
      topic, seen = topic_with(4), queue
      first = consuming(topic, ->(_route) { [adaptive_iterator, pause(timeout: 60_000, max_timeout: 60_000)] }) do
        kept = []
        each do |message|
          seen << [message.offset, kept.map(&:cleaned?)]
          raise "no" if message.offset == 2
          kept << message
        end
      end
      assert_equal [[0, []], [1, [true]], [2, [true, true]]], take(seen, 3)
      first.stop
      assert_equal 2, committed(topic)
      consuming(topic, ->(_route) { adaptive_iterator }) { each { |message| seen << message.offset } }

      assert_equal [2, 3], take(seen, 2)
    end

    rule "a window limits the records in progress, even with a record that doesn't end" do
      topic, begun, release, stuck = topic_with(9), queue, queue, queue
      options = lambda do |_route|
        parallel by: :message
        window records: 4
      end
      consuming(topic, options, concurrency: 9, max_messages: 2) do
        begun << messages.first.offset
        (messages.first.offset.zero? ? stuck : release).pop
      end
      assert_equal [0, 1, 2, 3], take(begun, 4).sort
      observe_for(0.3) { assert_empty begun }
      3.times { release << true }
      assert_equal [4, 5, 6], take(begun, 3).sort
      observe_for(0.3) { assert_empty begun }
    ensure
      [*[release] * 10, stuck].each { |gate| gate&.push(true) }
    end

    rule "a window limits bytes too: fewer large records are in progress at once" do
      topic, begun, release = unique("topic").tap { |name| create_topic(name, 1) }, queue, queue
      12.times { |index| produce(topic, ["#{index} #{"x" * 4_000}"]) }
      options = lambda do |_route|
        parallel by: :message
        window bytes: 12_000
      end
      consuming(topic, options, concurrency: 12, max_messages: 1) do
        begun << messages.first.offset
        release.pop
      end
      take(begun, 1)
      observe_for(0.5)
      assert_operator begun.size, :<, 6
      12.times { release << true }
      assert_equal 11, take(begun, 11).uniq.size
    ensure
      12.times { release&.push(true) }
    end

    rule "workers max: at most that many of a topic's units run at once, other workers are free for another topic" do
      topic, other = topic_with(1, partitions: 3), topic_with(1)
      2.times { |partition| produce(topic, %w[0], partition: partition + 1) }
      begun, release = queue, queue
      consumer = Class.new(BaseConsumer) do
        define_method(:consume) { (begun << self.topic.name) && release.pop }
      end
      application = build(topic, consumer, ->(_route) { workers max: 2 }, ->(_config) {}, concurrency: 4)
      draw(application, other, consumer, ->(_route) {})
      yield_running(application)

      assert_equal({topic => 2, other => 1}, take(begun, 3).tally)
      observe_for(0.3) { assert_empty begun }
      release << true
      release << true
      release << true
      assert_equal [topic], take(begun, 1)
    ensure
      5.times { release&.push(true) }
    end

    rule "middleware runs around consume, and an error in a layer is the batch's failure" do
      topic, seen = topic_with(1), queue
      application = build(topic, recording(seen), ->(_route) {}, ->(_config) {}, {})
      application.middleware do
        use(lambda do |consumer, action, &inner|
          seen << [:outer, action, consumer.attempt]
          inner.call
          seen << [:behind, action]
        end)
        use(->(consumer, action, &inner) { (action == :consume && consumer.attempt == 1) ? raise("a layer") : inner.call })
      end
      yield_running(application)

      assert_equal 1, committed_at(topic, 1)
      told = all(seen).reject { |entry| entry[1] == :initialized }
      assert_equal [[:outer, :consume, 1], [:outer, :consume, 2], [:consume, 0], [:behind, :consume]], told.first(4)
    end

    rule "[piping] headers, key and order are kept, and the source is added" do
      topic, target = [unique("topic"), unique("target")].each { |name| create_topic(name, 1) }
      produce_keyed(topic, [%w[k 0], %w[k 1], [nil, "2"]], headers: {"from" => "web"})
      seen = queue
      consuming(topic) { pipe_many_sync(topic: target, messages: messages) }
      assert_equal 3, committed_at(topic, 3)
      consuming(target) do
        messages.each do |message|
          seen << [message.raw_payload, message.raw_key, *message.raw_headers.values_at("from", "source_offset")]
        end
      end

      assert_equal [%w[0 k web 0], %w[1 k web 1], ["2", nil, "web", "2"]], take(seen, 3)
    end

    rule "user code of every kind, hooks included, runs on workers, never on a poll loop" do
      topic, dead = [unique("topic"), unique("dead")].each { |name| create_topic(name, 2) } # one stays empty, for its end
      produce_keyed(topic, Array.new(6) { |index| ["k#{index % 2}", index.to_s] })
      names = Hash.new { |all, kind| all[kind] = queue }
      note = ->(kind) { names[kind] << Thread.current.name }
      consuming(topic, everything(note, dead), concurrency: 2, hooks: noting_hooks(note)) do
        note.call(:consume)
        messages.each { |message| (message.payload == "1") ? raise(KeyError, "no") : mark_as_consumed(message) }
      end
      kinds = %i[filter partitioner deserializer backoff strategy enhance consume initialized wrap tick eofed]
      wait_until(40, "all of it", state: -> { names.transform_values(&:size) }) { kinds.all? { |kind| !names[kind].empty? } }
      @running.first.stop
      kinds += %i[shutdown]

      found = names.transform_values { |kind| all(kind).uniq }
      assert_equal kinds.sort, found.keys.sort
      assert_empty found.values.flatten.grep_v(/\Apenstock (worker \d+|hooks)\z/), found
    end

    rule "run_on :fibers: as many records of a partition wait at once as the setting allows" do
      begin
        require "async"
      rescue LoadError
        skip "the gem async isn't here"
      end
      topic, seen = topic_with(40), queue
      at_once = most = 0
      options = lambda do |_route|
        parallel by: :message, max_partitions: 30
        run_on :fibers, max: 30
      end
      consuming(topic, options) do
        most = [most, at_once += 1].max
        TestSupport::Wait.wait_until(30, "others") { most == 30 }
        at_once -= 1
        seen << [messages.first.offset, Thread.current.name[/\A[a-z ]+/]]
      end

      runs = take(seen, 40)
      assert_equal [(0...40).to_a, 30], [runs.map(&:first).sort, most]
      assert_equal ["penstock fibers "], runs.map(&:last).uniq
    end

    rule "metadata of other tools, cut, newer, of another topic or offset: only the offset is used, nothing is lost" do
      topic, seen = unique("topic").tap { |name| create_topic(name, 6) }, queue
      ours = envelope(topic)
      texts = {ours: ours, others: "a note", cut: ours[0..-3], newer: ours.sub("pstk1", "pstk2"),
               mirrored: envelope("another"), of_another_offset: envelope(topic, base: 1)}
      texts.size.times { |partition| produce(topic, %w[0 1 2 3 4 5], partition: partition) }
      commit_as_another(topic, texts.values)
      consuming(topic) { messages.each { |message| seen << [message.partition, message.offset] } }

      runs = take(seen, 4 * texts.size - 1).group_by(&:first).sort.to_h { |at, rows| [texts.keys[at], rows.map(&:last)] }
      assert_equal texts.keys.to_h { |what| [what, (what == :ours) ? [2, 3, 5] : [2, 3, 4, 5]] }, runs
    end

    # --- helpers

    # Metadata that lists the record at 4 as complete, above the offset 2.
    def envelope(topic, base: 2)
      ledger = Native::Ledger.new(base)
      ledger.admit(base, 6)
      ledger.complete_many([4])
      Native::Envelope.write(base: base, topic: topic, completed: ledger).text
    end

    # Commits offset 2 in each partition, with these texts, as a member that isn't Penstock's.
    def commit_as_another(topic, texts)
      address = Struct.new(:bootstrap_servers).new(native.fetch("bootstrap.servers"))
      member = TestSupport::NativeMember.new(address, topic, group_id: group,
        session_timeout_ms: kafka.fetch(:"session.timeout.ms", 6_000))
      member.turn_until(40, "all partitions") { member.lanes.size == texts.size }
      member.consumer.commit(7, texts.each_with_index.map { |text, partition| [topic, partition, 2, text, 0] })
      assert_equal [7, 0], member.await_event(:commit, 20)[1, 2]
    ensure
      member&.close
    end

    # A deserializer that records where it runs.
    Noting = Struct.new(:note) do
      def call(message) = note.call(:deserializer) && message.raw_payload
    end

    def everything(note, dead)
      lambda do |_route|
        filter { |_message| note.call(:filter) }
        parallel by: ->(message) { note.call(:partitioner) && message.raw_key }
        deserializers payload: Noting.new(note)
        backoff_for(KeyError) { |_error, _attempt| note.call(:backoff) && 10 }
        strategy = ->(_errors, attempt) { (note.call(:strategy) && attempt < 2) ? :retry : :dispatch }
        dead_letter_queue topic: dead, strategy: strategy
        periodic interval: 50
        eofed true
      end
    end

    def noting_hooks(note)
      hooks = %i[initialized shutdown tick eofed].to_h { |name| [name, -> { note.call(name) }] }
      wrap = ->(_action, &job) { note.call(:wrap) && job.call }
      {**hooks, wrap: wrap, enhance_dlq_message: ->(_letter, _message) { note.call(:enhance) }}
    end

    def recording(seen) = Class.new(BaseConsumer) { define_method(:consume) { seen << [:consume, messages.first.offset] } }

    # The offset, once it is committed.
    def committed_at(topic, offset)
      wait_until(20, "#{topic} at #{offset}", state: -> { @running.map { |one| one.application.snapshot } }) do
        committed(topic) == offset
      end
      offset
    end
  end
end
