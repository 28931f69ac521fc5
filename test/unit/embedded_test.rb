# frozen_string_literal: true

require "test_helper"
require "penstock/embedded"

module Penstock
  # The application is a double, in this process.
  class EmbeddedStartTest < TestCase
    class Application
      attr_reader :told, :runs, :molds, :name

      # @param validate [#call] called to validate its settings
      # @param mold [#close, nil] its processes are forked from it
      # @param name [String]
      def initialize(validate = -> {}, mold: nil, name: "Shop")
        @validate = validate
        @name = name
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
      ensure
        @done = true
      end

      def done? = @done || false
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
    end

    def refused(*arguments, **options)
      assert_raises(ConfigurationError) { Embedded.start(*arguments, **options) }.message
    end

    test "an application that has ended can't be started again, neither here nor in a fork" do
      Embedded.start(application = Application.new)
      Embedded.stop
      assert_match(/Shop has run in this process, or in the one it was forked from.*Start another process/m, refused(application))
      pid = fork do
        Embedded.start(application)
        exit!(1)
      rescue ConfigurationError
        exit!(0)
      end

      assert_predicate ::Process.wait2(pid).last, :success?
      assert_equal 1, application.runs.size
    end

    test "a run that ends before it has begun, because of its configuration, doesn't prevent the next one" do
      failing = Application.new
      failing.define_singleton_method(:run!) { |**| nil }
      Embedded.start(failing)
      wait_until(20) { !Embedded.running? }
      failing.singleton_class.remove_method(:run!)
      Embedded.start(failing)

      wait_until(20, "a run") { failing.runs.size == 1 }
      assert_predicate Embedded, :running?
    end

    test "while an application runs, another one and another boot file are refused; the same start again is accepted" do
      Embedded.start(application = Application.new, boot_file: "app.rb")
      assert_match(/Shop runs here already.*Bills isn't started.*`penstock server`/m, refused(Application.new(name: "Bills")))
      assert_match(/with app\.rb: boot_file: other\.rb has no effect/, refused(application, boot_file: "other.rb"))
      [{}, {boot_file: "app.rb"}].each { |options| assert_nil Embedded.start(application, **options) }
    end

    test "the class of an application is accepted, and what isn't one is refused with what to pass" do
      application = Application.new
      Embedded.start(Struct.new(:application).new(application))

      wait_until(20, "a run") { application.runs.size == 1 }
      assert_match(/needs an application, got 7.*such as PenstockApp/m, refused(7))
      assert_match(/no application is defined/, refused(nil))
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
