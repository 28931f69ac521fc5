# frozen_string_literal: true

require "test_helper"
require "penstock/embedded"

module Penstock
  # The application is a double, in this process.
  class EmbeddedStartTest < TestCase
    class Application
      attr_reader :told, :runs, :molds

      # @param validate [#call] called to validate its settings
      # @param mold [#close, nil] its processes are forked from it
      def initialize(validate = -> {}, mold: nil)
        @validate = validate
        @mold = mold
        @molds = Thread::Queue.new
        @told = Thread::Queue.new
        @stops = Thread::Queue.new
        @runs = Thread::Queue.new
      end

      def validate! = @validate.call
      def quiet! = @told << :quiet
      def stop! = @stops << :stop

      def spawned_mold(boot_file:)
        @molds << boot_file
        @mold
      end

      def run!(traps:, mold:, keep_producer:)
        @runs << [traps, mold, keep_producer]
        @stops.pop && 0
      end
    end

    def teardown
      Embedded.stop
      Embedded.instance_variable_set(:@run, nil)
      super
    end

    test "two threads that start it start one application" do
      goes_on = Thread::Queue.new
      application = Application.new(-> { goes_on.pop })
      threads = Array.new(2) { Thread.new { Embedded.start(application) } }
      wait_until(20) { threads.all? { |thread| thread.status == "sleep" } }
      2.times { goes_on << true }
      threads.each(&:join)
      assert_equal [0, 1], [Embedded.stop, application.runs.size]
      Embedded.start(application)
      assert_equal 1, application.runs.size, "not after a stop"
    end

    test "quiet and stop during a start find nothing to stop, and nothing half complete" do
      found = nil
      Embedded.start(Application.new(-> { found = [Embedded.running?, Embedded.quiet, Embedded.stop] }))

      assert_equal [false, nil, nil], found
      assert_predicate Embedded, :running?
    end

    test "a start that fails, because of its settings or because no thread can be started, is no start" do
      assert_raises(ConfigurationError) { Embedded.start(Application.new(-> { raise ConfigurationError, "no" })) }
      without_threads do
        assert_raises(ThreadError) { Embedded.start(Application.new) }
        assert_nil Embedded.stop
      end
      Embedded.start(application = Application.new)
      Embedded.quiet

      assert_equal [0, :quiet], [Embedded.stop, application.told.pop]
    end

    test "the mold exists before the application begins, is passed to it, and is closed where no thread can be started" do
      closed = Thread::Queue.new
      mold = Struct.new(:closed) { def close = closed << true }.new(closed)
      without_threads { assert_raises(ThreadError) { Embedded.start(Application.new(mold: mold)) } }
      Embedded.start(application = Application.new(mold: mold), boot_file: "app.rb")

      wait_until(20, "a run") { application.runs.size == 1 }
      assert_equal [1, "app.rb", [false, mold, true]], [closed.size, application.molds.pop, application.runs.pop]
    end

    def without_threads
      Runtime::Threads.define_singleton_method(:new) { |*| raise ThreadError, "can't create Thread" }
      yield
    ensure
      Runtime::Threads.singleton_class.remove_method(:new)
    end
  end
end
