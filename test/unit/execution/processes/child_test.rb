# frozen_string_literal: true

require "test_helper"
require "socket"
require "support/executing"
require "penstock/execution/processes/child"
require "penstock/execution/processes/child_context"

module Penstock
  class ExecutionProcessChildTest < TestCase
    include TestSupport::Executing

    Processes = Execution::Processes

    # A child on threads of this process: units go in, and its frames come out. Its consumer may `publish` an event.
    def child(&block)
      recorder = -> { @child.instance_variable_get(:@recorder) }
      klass = consumer(consumer { define_method(:publish) { |**payload| recorder.call.instrument("my.event", payload) } }, &block)
      @topic = TestSupport::Executing::Topic.new(name: "orders", consumer: klass,
        deserializers: Serialization::Deserializers::DEFAULT)
      @monitor.register_event("my.event")
      @monitor.subscribe("my.event") { flunk }
      ours, theirs = UNIXSocket.pair
      @application = Processes::Channel.new(ours)
      @status = Processes::SharedStatus.create
      @theirs = theirs
      @child = Processes::Child.new(Processes::ChildContext.new(topics: [@topic], monitor: @monitor, clock: Clock::SYSTEM,
        middleware: Execution::MiddlewareStack.new([]), critical: [], threads: @threads), theirs, @status.file)
    end

    def after_teardown
      [@application, @theirs, @status].each { |io| io&.close }
      super
    end

    # Runs the units and ends.
    # @return [Hash{Integer => Processes::ReportCodec::Report}] the reports of the units
    def reports(*units)
      units.each_with_index { |unit, index| handle(:unit, Processes::UnitCodec.encode(index + 1, 0, unit)) }
      handle(:stop)
      @threads.start("child") { @child.__send__(:work) }.join(10)
      @child.instance_variable_get(:@channel).flush
      found = {}
      nil while @application.read(0) { |type, body| found[found.size + 1] = Processes::ReportCodec.decode(body) if type == :done }
      found
    end

    def handle(type, body = "".b) = @child.__send__(:handle, type, body)

    test "a unit that has been reported is no longer in the shared status" do
      child { def consume = mark_as_consumed(messages.last) }
      reports = reports(unit(lane, [3, 4]))
      assert_equal [1, 5, true], reports[1].to_a.values_at(0, 1, 3)
      assert_nil @status.read
    end

    test "a unit that ends its thread stays in the shared status with its record and its marks" do
      child do
        def consume
          messages.each do |message|
            Thread.exit if message.offset == 6
            mark_as_consumed(message)
          end
        end
      end
      assert_equal [1], reports(unit(lane, [3]), unit(lane, [5, 6, 7])).keys
      assert_equal Processes::SharedStatus::State.new(2, 6, 6), @status.read
    end

    test "units that haven't begun are given back while a report waits for the application to read it" do
      child { def consume = nil }
      channel = @child.instance_variable_get(:@channel)
      writer = Thread.new { channel.send_frame(:done, "x" * 4_000_000) }
      wait_until(10, "a write that waits", state: -> { writer.status }) { @application.socket.wait_readable(0) && writer.stop? }
      [7, 8].each { |id| handle(:unit, Processes::UnitCodec.encode(id, 0, unit(lane, [id]))) }
      assert Thread.new { handle(:recall) }.join(10), "the reading thread waits"

      found = []
      wait_until(10, "the units", state: -> { found.map(&:first) }) do
        @application.read(0) { |type, body| found << [type, body] }
        found.size == 2
      end
      assert_equal [[:done, :returned], [7, 8]], [found.map(&:first), Processes::Frame.value(found.last.last)]
    end

    test "an event's text that user code has extended is sent as text, and so is a tag" do
      child do
        def consume
          text = +"text"
          def text.more = 1
          tags.add(:kind, text)
          publish(text: text)
        end
      end
      assert_equal({events: [["my.event", {text: "text"}, false]], tags: ["text"]},
        reports(unit(lane, [3]))[1].rest.slice(:events, :tags))
    end

    test "a call with an event that can't be sent has the outcome it would have without it" do
      child do
        def consume
          mark_as_consumed(messages.first)
          publish(value: Class.new(Numeric).new)
          pause(7, 1_000)
        end
      end
      report = reports(unit(lane, [3, 4]))[1]
      (name, payload), = report.rest[:events]

      assert_equal [4, true, [:pause, 7, 1_000]], [report.through, report.finished, report.rest[:flow]]
      assert_equal ["error.occurred", "worker.process.error", "orders", 0], [name, *payload.values_at(:type, :topic, :partition)]
      assert_match(%r{\Aevents and tags of a call for orders/0 can't be sent.*anonymous}, payload[:error][:failure][:message])
    end
  end
end
