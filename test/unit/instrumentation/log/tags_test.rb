# frozen_string_literal: true

require "test_helper"
require "support/log_lines"

module Penstock
  class LogTagsTest < TestCase
    include TestSupport::LogLines

    # As ActiveSupport::TaggedLogging: tags of a thread, before the message.
    module Tagged
      def push_tags(*tags) = stack.concat(tags)
      def pop_tags(count = 1) = stack.pop(count)
      def stack = @stack ||= []

      def tagged(*tags)
        push_tags(*tags)
        yield
      ensure
        pop_tags(tags.size)
      end

      def add(severity, text = nil, progname = nil)
        super(severity, stack.map { |tag| "[#{tag}] " }.join + (text || (block_given? ? yield : progname)).to_s)
      end
    end

    # Knows only the block form.
    module OnlyBlock
      include Tagged

      private :push_tags, :pop_tags
    end

    def tagged(kind)
      log
      @listener = Instrumentation::LoggerListener.new(@logger.extend(kind), clock: @clock, ticker: @ticker)
    end

    [Tagged, OnlyBlock].each do |kind|
      test "lines have the tags penstock, consumer group and topic, and tags of the application stay (#{kind})" do
        tagged(kind)
        event = ->(name, **payload) { Instrumentation::Event.new(name, payload) }
        @logger.tagged("request 1") do
          @listener.on_app_quiet(event.call("app.quiet", server_id: "a"))
          @listener.on_consumer_consuming_retry(event.call("consumer.consuming.retry", topic: "orders", partition: 0, offset: 7,
            attempt: 2, caller: Caller.new(Route.new("billing"))))
        end
        @logger.info("own")

        assert_equal ["INFO [request 1] [penstock] quiet: no job runs any more, the process stays in its groups",
          "INFO [request 1] [penstock] [billing] [orders] orders/0: offset 7 is tried again (attempt 2)", "INFO own"], lines
      end
    end

    test "a summary has the tags of its topic" do
      tagged(Tagged)
      call = {topic: "orders", partition: 0, messages_count: 3, time: 1.2}
      @listener.on_consumer_consumed(Instrumentation::Event.new("consumer.consumed", call))
      @listener.flush_due
      @clock.advance(5_000)
      @listener.flush_due

      assert_equal ["INFO [penstock] [orders] orders: 3 messages in 1 call in 1 ms, which took 1.2 ms"], lines
    end

    test "lines that aren't about events are tagged too, and none is built for a level that isn't logged" do
      tagged(Tagged)
      safe = Instrumentation::SafeLogger.of(@logger)
      safe.warn("a")
      safe.info { "b" }
      safe.debug { flunk "called" }

      assert_equal ["WARN [penstock] a", "INFO [penstock] b"], lines
      assert_empty @logger.stack
    end
  end
end
