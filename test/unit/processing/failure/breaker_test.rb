# frozen_string_literal: true

require "test_helper"
require "penstock/errors"
require "penstock/processing/backoff"
require "penstock/processing/failure/breaker"
require "penstock/routing/features/breaker"

module Penstock
  class BreakerTest < TestCase
    Failure = Processing::Failure
    Unit = Struct.new(:sequence)

    def breaker(after: 20, share: 0.5, outage_after: 3, limit: 300_000)
      policy = Routing::Breaker.new(after, share, outage_after, Routing::Features::Breaker::OUTAGE_ERRORS, limit)
      Failure::Breaker.new(policy, Processing::Backoff.new(1_000, 30_000, true), ["orders"])
    end

    # One failed attempt of a record.
    # @param record [Object] also its sequence
    def failed(one, record, error = RuntimeError.new, at: 0, fresh: true, probe: false)
      number = one.number_records(1, Unit.new(record)) if fresh
      one.failed(Failure::Breaker::Attempt.new(record: record, error: error, number: number, sequence: record, fresh: fresh,
        probe: probe), at)
    end

    def succeeded(one, fresh: 1, completed: true, probe: false, now: 0)
      one.succeeded(fresh: fresh, completed: completed, probe: probe, now: now)
    end

    def opened(at: 0, **options)
      breaker(**options).tap { |one| 10.times { |record| failed(one, record, at: at) } }
    end

    # @return [Failure::Breaker] whose probe failed
    def probed(one, error = RuntimeError.new, at: one.due)
      one.begin_probe
      failed(one, :probe, error, at: at, probe: true)
      one
    end

    test "it opens at the tenth of twenty fresh records that failed with one class, and that attempt doesn't count" do
      one = breaker
      verdicts = Array.new(10) { |record| failed(one, record, at: 5) }

      assert_equal [:counted] * 9 + [:opened], verdicts
      assert_equal [:open, 5, "RuntimeError", 10, 20], [one.state, one.due, one.cause, one.failures, one.of]
    end

    test "retries and records of retry topics aren't evidence, however many fail" do
      one = breaker
      200.times { |record| assert_equal :counted, failed(one, record, fresh: false) }
    end

    test "successes in between count for the share: one failure in five never opens it" do
      one = breaker
      400.times do |record|
        assert_equal :counted, failed(one, record) if (record % 5).zero?
        one.number_records(4, Unit.new(record))
        succeeded(one, fresh: 4)
      end
    end

    test "errors of an outage open it at the third record, if none has succeeded in between, regardless of their classes" do
      one = breaker
      assert_equal %i[counted counted], [failed(one, 1, Errno::ECONNREFUSED.new), failed(one, 2, Timeout::Error.new)]
      succeeded(one)
      assert_equal %i[counted counted opened], [failed(one, 3, Errno::EPIPE.new), failed(one, 4, Errno::ECONNREFUSED.new),
        failed(one, 5, Class.new(Timeout::Error).new)]
      assert_equal [3, nil], [one.failures, one.of]
    end

    test "a retry that succeeds in between doesn't count, as retries that fail don't" do
      one = breaker
      assert_equal %i[counted counted], [failed(one, 1, Errno::EPIPE.new), failed(one, 2, Errno::EPIPE.new)]
      succeeded(one, fresh: 0)
      assert_equal :opened, failed(one, 3, Errno::EPIPE.new)
    end

    test "the same record counts once, and a retry that fails with an error of an outage doesn't count" do
      one = breaker
      10.times { assert_equal :counted, failed(one, 1, Errno::EPIPE.new) }
      10.times { |record| assert_equal :counted, failed(one, record, Errno::EPIPE.new, fresh: false) }
    end

    test "an error of the record itself never counts, unless an outage caused it" do
      one = breaker
      error = DeserializationError.new(topic: "t", partition: 0, offset: 1)
      40.times { |record| assert_equal :counted, failed(one, record, error) }
      down = DeserializationError.new(topic: "t", partition: 0, offset: 1)
      down.define_singleton_method(:cause) { Errno::ECONNREFUSED.new }
      assert_equal %i[counted counted opened], Array.new(3) { |record| failed(one, record, down) }
    end

    test "while it is open three probes run without a wait, then each waits longer" do
      one = opened
      waits = Array.new(9) do
        now = one.due
        probed(one).due - now
      end
      assert_equal [0, 0, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000], waits
    end

    test "it names the last error, also of a probe, but not one of the record itself" do
      one = breaker
      3.times { |record| failed(one, record, Errno::ECONNREFUSED.new) }
      assert_equal ["an outage", "Errno::ECONNREFUSED"], [one.cause, one.error]
      assert_equal "IOError", probed(one, IOError.new).error
      assert_equal "IOError", probed(one, DeserializationError.new(topic: "t", partition: 0, offset: 1)).error
    end

    test "only one probe runs at a time" do
      one = opened
      assert one.probe?(0)
      one.begin_probe
      refute one.probe?(1_000_000)
    end

    test "a record that was running when it opened and fails now is held, and doesn't count as the probe" do
      one = opened
      one.begin_probe
      assert_equal :held, failed(one, 99, KeyError.new, at: 10)
      assert_equal :probing, one.state
    end

    test "any success of a fresh record closes it, also of one that was running" do
      one = opened
      assert succeeded(one)
      assert_predicate one, :closed?
      refute succeeded(one)
      assert_equal :counted, failed(one, :next), "it begins with nothing"
    end

    test "the success of a retry closes it only if it is the probe" do
      one = opened
      refute succeeded(one, fresh: 0)
      one.begin_probe
      assert succeeded(one, fresh: 0, probe: true)
    end

    test "a lost probe is sent again at once, and so is one after a record that can't be decoded" do
      one = opened
      one.begin_probe
      one.probe_lost(7)
      assert_equal [:open, 7], [one.state, one.due]
      one.begin_probe
      error = DeserializationError.new(topic: "t", partition: 0, offset: 1)
      assert_equal :counted, failed(one, "a", error, at: 9, probe: true)
      assert_equal [:open, 9], [one.state, one.due]
    end

    test "probes that complete nothing because their consumer gathers continue at once, and close it after twenty" do
      one = opened
      19.times do
        one.begin_probe
        refute succeeded(one, fresh: 0, completed: false, probe: true, now: 3)
        assert_equal [:open, 3], [one.state, one.due]
      end
      one.begin_probe
      assert succeeded(one, fresh: 0, completed: false, probe: true, now: 3)
    end

    # Opened by an outage, then closed by twenty probes whose records were only gathered.
    def gathered
      breaker.tap do |one|
        3.times { |record| failed(one, record, Errno::ECONNREFUSED.new) }
        20.times do
          one.begin_probe
          succeeded(one, fresh: 0, completed: false, probe: true)
        end
      end
    end

    test "closed by probes that only gathered, it opens again with the first error of an outage, which counts as no attempt" do
      [true, false].each do |fresh|
        one = gathered
        assert_equal [true, false], [one.closed?, one.ignores_success?]
        assert_equal :opened, failed(one, :next, Errno::ECONNREFUSED.new, fresh: fresh)
        assert_equal [1, nil], [one.failures, one.of]
      end
    end

    test "a success, or a command, after such probes ends that" do
      one = gathered
      succeeded(one)
      assert_equal [:counted, true], [failed(one, :next, Errno::ECONNREFUSED.new), one.closed?]

      one = gathered
      failed(one, :next, Errno::ECONNREFUSED.new)
      one.end_hold
      assert_equal [:counted] * 9, Array.new(9) { |record| failed(one, record, Errno::ECONNREFUSED.new) }
    end

    test "a completed record ends that, too, if it isn't fresh: in a retry topic none is" do
      one = gathered
      succeeded(one, fresh: 0, completed: true)
      assert_equal [:counted, true], [failed(one, :next, Errno::ECONNREFUSED.new, fresh: false), one.ignores_success?]
    end

    test "errors that aren't those of an outage are counted after such probes" do
      one = gathered

      assert_equal [:counted] * 9, Array.new(9) { |record| failed(one, record) }
    end

    test "a hold for errors that aren't those of an outage ends with the limit" do
      one = opened(at: 1_000)
      refute one.limit_reached?(300_999)
      assert one.limit_reached?(301_000)
      assert one.end_hold
      refute one.end_hold
      assert_predicate one, :closed?
    end

    test "after the limit the same errors don't open it again until a fresh record has succeeded; others do" do
      one = opened
      one.end_hold
      100.times { |record| assert_equal :counted, failed(one, record) }
      succeeded(one, fresh: 0)
      100.times { |record| assert_equal :counted, failed(one, record) }
      assert_equal :opened, Array.new(10) { |record| failed(one, record, KeyError.new) }.last
      succeeded(one)
      assert_equal :opened, Array.new(10) { |record| failed(one, record) }.last
    end

    test "errors of an outage hold without a limit; it starts with other errors, and stops when outage errors return" do
      one = breaker
      3.times { |record| failed(one, record, Errno::ECONNREFUSED.new) }
      assert_nil one.ends_at
      probed(one, KeyError.new, at: 50_000)
      assert_equal 350_000, one.ends_at
      probed(one, KeyError.new, at: 90_000)
      assert_equal 350_000, one.ends_at
      probed(one, Errno::EPIPE.new, at: 100_000)
      assert_nil one.ends_at
    end

    test "a hold for an outage that was ended by hand doesn't begin again with another error of an outage" do
      one = breaker
      3.times { |record| failed(one, record, Errno::ECONNREFUSED.new) }
      one.end_hold
      9.times { |record| assert_equal :counted, failed(one, record, Errno::EPIPE.new) }
    end

    test "without a limit it lasts until a record succeeds" do
      one = opened(limit: false)
      assert_nil one.ends_at
      refute one.limit_reached?(10**12)
    end

    test "ignores_success? is true where a success would change nothing" do
      one = breaker
      assert_predicate one, :ignores_success?
      failed(one, :first)
      assert_predicate one, :ignores_success?, "a share needs failures alone"
      failed(one, :second, Errno::EPIPE.new)
      refute_predicate one, :ignores_success?
      succeeded(one)
      assert_predicate one, :ignores_success?
      10.times { |record| failed(one, record) }
      refute_predicate one, :ignores_success?
      one.end_hold
      refute_predicate one, :ignores_success?
    end
  end
end
