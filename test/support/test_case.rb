# frozen_string_literal: true

require "minitest"
require_relative "checked_events"
require_relative "leaks"
require_relative "wait"

module Penstock
  # The base of every test: `test "the rule" do … end`. A test without an assertion fails, and so does one that doesn't
  # release a thread, a file descriptor, a child process or a native handle. Fixtures for a whole class are made in
  # `before_all` and ended in `after_all`; the class is then checked as a whole too.
  class TestCase < Minitest::Test
    include TestSupport::Wait

    class << self
      def test(name, &body)
        method = :"test_ #{name}"
        raise ArgumentError, "#{self}: two tests are named #{name.inspect}" if method_defined?(method, false)

        define_method(method, &body)
      end

      # Overridden by classes whose tests share something expensive (a broker, a built library).
      def before_all
      end

      def after_all
      end

      # Allows threads, descriptors or children to appear and disappear between this class's tests; the class as a whole
      # is still checked. The reason is for the reader.
      def leaks_checked_per_class(_reason)
        @leaks_per_class = true
      end

      def leaks_per_class?
        @leaks_per_class || (superclass.respond_to?(:leaks_per_class?) && superclass.leaks_per_class?) || false
      end

      def run(reporter, options = {})
        filter = options[:filter] || options[:include]
        return super if runnable_methods.empty? || nothing_selected?(filter)

        leaks = TestSupport::Leaks.snapshot
        before_all
        begin
          super
        ensure
          after_all
        end
        report_class_leaks(reporter, leaks.found)
      end

      private

      def nothing_selected?(filter)
        return false unless filter

        pattern = %r{\A/(.*)/\z}.match?(filter) ? Regexp.new(filter[1..-2]) : filter
        runnable_methods.none? { |name| pattern === name || pattern === "#{self}##{name}" }
      end

      def report_class_leaks(reporter, found)
        return if found.empty?

        result = new("leaks of the class")
        result.time = 0.0
        failure = Minitest::Assertion.new("left behind by #{self}: #{found.join("; ")}")
        failure.set_backtrace(caller)
        result.failures << failure
        reporter.record(Minitest::Result.from(result))
      end
    end

    # How long it may take until what a test leaves is gone; nil for the usual time.
    def grace_seconds
    end

    def before_setup
      @leaks = TestSupport::Leaks.snapshot unless self.class.leaks_per_class?
      super
    end

    def after_teardown
      super
      events = TestSupport::CheckedEvents.take
      return unless failures.empty?

      flunk "other payloads than docs/events.md describes: #{events.uniq.join("; ")}" unless events.empty?
      flunk "no assertion: this test can't fail" if assertions.zero?
      found = @leaks ? @leaks.found(*grace_seconds) : []
      flunk "left behind: #{found.join("; ")}" unless found.empty?
    end
  end
end
