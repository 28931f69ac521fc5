# frozen_string_literal: true

require "support/executing"
require "support/rules"

module Penstock
  # Behaviour that user code may rely on wherever it runs: on a thread, in a fiber, in a process of its own. Including modules
  # define `executor(middleware, size)`.
  module ExecutionContract
    class Odd < StandardError
      attr_reader :code

      def initialize(code)
        @code = code
        super("odd #{code}")
      end
    end

    # A middleware layer that records its calls.
    Layer = Struct.new(:name, :out) do
      def call(consumer, action)
        out.syswrite("#{name} before #{action} #{consumer.partition}\n")
        yield
        out.syswrite("#{name} after\n")
      end
    end

    extend TestSupport::Rules

    rule "an error keeps its class, message, backtrace, cause and variables, and blames the current record" do
      executing do
        def consume
          messages.each { |message| fails if message.offset == 5 }
        end

        def fails
          raise ArgumentError, "inner"
        rescue ArgumentError
          raise Odd.new(42)
        end
      end
      result = run_unit([4, 5, 6])

      assert_instance_of Odd, result.error
      assert_equal ["odd 42", 42, "inner"], [result.error.message, result.error.code, result.error.cause.message]
      assert_includes result.error.backtrace.first, "fails"
      assert_equal 5, result.blamed
      assert_equal "consumer.consume.error", @errors.pop[:type]
    end

    rule "without a cursor the last record is blamed; each_with_index and random access blame the current one" do
      executing do
        def consume
          return messages.each_with_index { |_message, index| raise "third" if index == 2 } if partition == 1
          messages.to_a
          return messages.each { |message| raise "second" if message.offset == 1 } if partition == 2
          raise "at once"
        end
      end

      assert_equal 3, run_unit([0, 1, 2, 3]).blamed
      assert_equal 2, run_unit([0, 1, 2, 3], at: lane(1)).blamed
      assert_equal 1, run_unit([0, 1, 2, 3], at: lane(2)).blamed
    end

    rule "errors that stop processes are outcomes too" do
      executing do
        def consume = exit(3)
      end

      assert_instance_of SystemExit, run_unit([0]).error
      assert_equal "consumer.critical.error", @errors.pop[:type]
    end

    rule "an each that was left early without an error is reported as such" do
      executing do
        def consume = messages.each { |message| break if message.offset == 1 }
      end
      result = run_unit([0, 1, 2])

      assert_nil result.error
      refute result.finished
    end

    rule "marks are seen while the unit runs, and after it" do
      executing do
        def consume
          log(mark_as_consumed(messages.first))
          messages.to_a
          until_stopping
          mark_as_consumed(messages[2], "note")
        end
      end
      place = lane
      push(place, unit(place, [3, 4, 5, 6]))
      assert_equal "true", told
      wait_until(5, "the mark") { place.marks.through == 4 }
      @link.stopping = true
      outcome

      assert_equal 6, place.marks.through
      wait_until(5, "the metadata") { place.marks.metadata == "note" }
    end

    rule "a lost partition is visible to running user code, and marks return false" do
      executing do
        def consume
          log("began")
          until_true { revoked? }
          log(mark_as_consumed(messages.first), stopping?)
        end
      end
      place = lane
      push(place, unit(place, [1, 2]))
      assert_equal "began", told
      place.marks.end_ownership!

      assert_equal "false true", told
      outcome
      assert_equal(-1, place.marks.through)
    end

    rule "mark_as_consumed! and commit_offsets! wait for the commit, with the marks made before" do
      executing do
        def consume
          log(mark_as_consumed!(messages.first))
          mark_as_consumed(messages[1])
          log(commit_offsets!, commit_offsets)
        end
      end
      run_unit([10, 11])

      assert_equal ["true", "true true"], [told, told]
      assert_equal [11, 12], @link.commits
      wait_until(5, "the wish") { @link.requests == [:commit] }
    end

    rule "an error of a commit is raised in user code, and isn't taken for an acknowledgement" do
      executing do
        def consume
          log(commit_offsets!)
        rescue KafkaError => error
          log(error.message)
        end
      end
      @link.define_singleton_method(:commit) { |*| raise KafkaError, "no commit" }
      run_unit([10])

      assert_equal "no commit (unknown)", told
    end

    rule "pause and seek are part of the outcome; the last request counts; resume cancels a pause" do
      executing do
        def consume
          case partition
          when 0 then pause(5, 1_000)
          when 1 then [pause, seek(3)]
          when 2 then seek(Time.at(77))
          when 3 then pause(:consecutive) || resume
          end
        end
      end
      flows = Array.new(4) { |partition| run_unit([0, 1], at: lane(partition)).flow }

      assert_equal [Consumer::Flow::Pause.new(5, 1_000), Consumer::Flow::Seek.new(3), Consumer::Flow::Seek.new(77), nil], flows
      wait_until(5, "the resume") { @link.requests == [Consumer::Flow::Resume.new] }
    end

    rule "metadata of the committed offset can be read" do
      executing do
        def consume = log(offset_metadata, store_offset_metadata("new"), offset_metadata)
      end
      run_unit([0])

      assert_equal "adopted true new", told
    end

    rule "an error in the poll loop's answer is raised in user code" do
      executing do
        def consume = seek(Time.at(404))
      end

      assert_kind_of KafkaError, run_unit([0]).error
    end

    rule "middleware is called in order around user code, with wrap inside it" do
      out = writer
      executing(layers: [Layer.new("outer", out), Layer.new("inner", out)]) do
        def wrap(action)
          log("wrap #{action}")
          yield
        end

        def consume = log("consume")
      end
      run_unit([0])

      assert_equal ["outer before consume 0", "inner before consume 0", "wrap consume", "consume", "inner after", "outer after"],
        Array.new(6) { told }
    end

    rule "wrap doesn't see the error of a call or a hook, runs on after its yield, and the error counts" do
      executing do
        def wrap(action)
          yield
          log("after #{action}")
        rescue => error
          log("rescued #{error.message}")
        end

        def consume = messages.each { |message| raise "no" if message.offset == 5 }
        def eofed = raise("no end")
      end
      place = lane
      consumed, ended = run_unit([4, 5, 6], at: place), run_unit([], at: place, action: :eofed)

      assert_equal ["no", 5, "no end"], [consumed.error.message, consumed.blamed, ended.error.message]
      assert_equal ["after consume", "after eofed"], [told, told]
    end

    rule "a layer that raises fails the unit" do
      executing(layers: [->(_consumer, _action, &) { raise "no way" }]) do
        def consume = log("never")
      end

      assert_equal "no way", run_unit([0]).error.message
    end

    rule "the hooks initialized and eofed are called" do
      executing do
        def initialized = log("initialized")
        def consume = nil
        def eofed = log("eofed", messages.size, eofed?)
      end
      assert_nil run_unit([], action: :eofed).error

      assert_equal ["initialized", "eofed 0 true"], [told, told]
    end

    rule "user code can read whether the end of the partition was reached" do
      executing do
        def consume = log(eofed?)
      end
      run_unit([0, 1], eof: 2)

      assert_equal "true", told
    end

    rule "an interrupt ends waiting user code, ensure runs, and rescue doesn't treat it as a failure" do
      executing do
        def consume
          log("began")
          wait_for_ever
        rescue
          log("rescued")
        ensure
          log("ensured")
        end
      end
      place = lane
      running = push(place, unit(place, [0]))
      assert_equal "began", told
      assert_equal [running], @executor.running.map(&:last)
      hit = @executor.interrupt([place])

      assert_equal [running], hit
      assert_instance_of Interrupted, outcome.error
      assert_equal "ensured", told
      assert_empty @executor.running
    end

    rule "an interrupt only affects the given lanes" do
      executing do
        def consume
          log("began", partition)
          until_stopping
        end
      end
      first, second = lane(0), lane(1)
      [first, second].each { |place| push(place, unit(place, [0])) }
      assert_equal ["began 0", "began 1"], [told, told].sort
      @executor.interrupt([second])
      assert_same second, outcome.unit.lane
      @link.stopping = true

      assert_nil outcome.error
    end

    rule "a unit over its time limit is ended with that error, and no other of its partition is affected" do
      executing do
        def consume
          log("began")
          until_stopping
        end
      end
      place = lane
      over, other = [0, 1].map { |offset| push(lane, unit(place, [offset])) }
      2.times { told }
      assert_equal [over], @executor.interrupt([over], TimeLimitExceeded.new(topic: "orders", limit_ms: 10))
      ended = outcome
      assert_equal [over, TimeLimitExceeded], [ended.unit, ended.error.class]
      assert_includes ended.error.message, "time_limit of 10 ms"
      @link.stopping = true

      assert_equal [other, nil], outcome.then { |left| [left.unit, left.error] }
    end

    rule "a stop waits for user code within its time limit and returns whether all has ended" do
      executing do
        def consume
          log("began")
          until_stopping
        end
      end
      place = lane
      push(place, unit(place, [0]))
      told
      closing = Thread.new { @executor.close(10) }
      @link.stopping = true

      assert closing.value
      assert_nil outcome.error
      @executor = nil
    end

    rule "events of the unit reach the listeners of the application" do
      seen = Thread::Queue.new
      %w[consumer.consume consumer.consumed worker.process worker.processed worker.completed].each do |name|
        @monitor.subscribe(name) { |event| seen << [name, event.payload] }
      end
      executing do
        def consume = tags.add(:tenant, "acme")
      end
      assert_nil run_unit([2, 3]).error
      events = drained(seen).to_h

      assert_equal 2, events.fetch("consumer.consumed")[:messages_count]
      assert_kind_of Float, events.fetch("consumer.consumed")[:time]
      caller = events.fetch("consumer.consumed")[:caller]
      assert_equal [["acme"], "orders", 0], [caller.tags.to_a, caller.topic.name, caller.partition]
      assert_equal %w[consumer.consume consumer.consumed worker.completed worker.process worker.processed], events.keys.sort
    end

    rule "several units of a lane run at once if its slot allows it" do
      executing do
        def consume
          log("began", messages.first.offset)
          until_stopping
        end
      end
      place = lane
      wide = slot(place, width: 2)
      [0, 1].each { |offset| push(place, unit(place, [offset]), wide) }

      assert_equal ["began 0", "began 1"], [told, told].sort
      @link.stopping = true
      assert_equal [nil, nil], [outcome.error, outcome.error]
    end

    rule "each of many small units ends with an outcome of its own, a failed one with its error" do
      executing do
        def consume
          offset = messages.first.offset
          raise "no #{offset}" if offset % 50 == 7
        end
      end
      place = lane
      wide = slot(place, width: 1_000)
      400.times { |offset| push(place, unit(place, [offset]), wide) }
      outcomes = Array.new(400) { outcome }

      assert_equal (0...400).to_a, outcomes.map { |one| one.unit.messages.first_offset }.sort
      assert_equal (0...400).select { |offset| offset % 50 == 7 }, outcomes.select(&:error).map(&:blamed).sort
    end

    rule "a unit that fails stalls its lane until the loop has decided" do
      executing do
        def consume = raise("always")
      end
      place = lane
      narrow = slot(place)
      [0, 1].each { |offset| push(place, unit(place, [offset]), narrow) }
      outcome

      assert_equal 1, @queue.withdraw(narrow).size
      assert_predicate @mailbox, :empty?
    end
  end
end
