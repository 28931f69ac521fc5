# frozen_string_literal: true

require_relative "../../consumer/context"
require_relative "../../errors"
require_relative "../../on_demand"
require_relative "../../processing/unit"
require_relative "../unit_runner"
require_relative "channel"
require_relative "child_lane"
require_relative "child_link"
require_relative "failure"
require_relative "flows"
require_relative "inbox"
require_relative "order_batch"
require_relative "order_messages"
require_relative "shared_status"
require_relative "recorder"
require_relative "report_codec"
require_relative "unit_codec"
Penstock.load_constant :Messages

module Penstock
  module Execution
    module Processes
      # Runs inside a process of the pool: takes units from its socket and runs them one after another, each with a consumer
      # created for it. It has no connection to Kafka except a producer of its own, if user code uses one. The
      # attributes of the process (its title, the signal at the end of the mold) are set by {Mold}, right after the fork.
      #
      # Two threads: one runs units, one reads. The reading thread interrupts units, returns those that haven't begun, and ends
      # the process when the application is gone. Ends with `exit!`: the application's `at_exit` blocks must not run in this
      # process.
      class Child
        # Small units that end within this time share one write to the socket.
        TOGETHER_US = 4_000
        PRODUCER_MS = 5_000
        ORPHANED = 3
        FAILED = 70
        private_constant :TOGETHER_US, :PRODUCER_MS, :ORPHANED, :FAILED

        # @param child_context [ChildContext]
        # @param socket [UNIXSocket]
        # @param file [File] of the {SharedStatus}
        def initialize(child_context, socket, file)
          @child_context = child_context
          @channel = Channel.new(socket)
          @shared_status = SharedStatus.new(file)
          @recorder = Recorder.new(child_context.monitor) { @inbox.wake }
          @link = ChildLink.new(@channel, child_context.producer, @recorder)
          @runner = UnitRunner.new(monitor: @recorder, middleware: child_context.middleware, clock: child_context.clock,
            critical: child_context.critical)
          @inbox = Inbox.new
          @flushed_at = 0
        end

        # Never returns.
        def run
          @child_context.adopt.call(@recorder)
          @child_context.monitor.instrument("process_pool.after_fork", {pid: ::Process.pid})
          @child_context.threads.start("penstock child reader") { read }
          worker = @child_context.threads.start("penstock child") { work }
          worker.join
          finish
        ensure
          exit!(@done ? 0 : FAILED)
        end

        private

        def finish
          @child_context.monitor.instrument("process_pool.before_exit", {pid: ::Process.pid})
          @child_context.close_producer.call(PRODUCER_MS)
          send_events
          @channel.flush
          [$stdout, $stderr].each(&:flush)
        end

        # Errors raised in this thread by other threads take effect in user code only.
        def work
          Thread.handle_interrupt(Exception => :never) { work_off }
          @done = true
        end

        def work_off
          until (order = @inbox.begin).nil?
            next send_events && flush unless order
            run_unit(order)
            @inbox.ended
            flush
          end
        end

        # Events that were recorded since the last unit's report belong to no unit.
        def send_events
          events, dropped = @recorder.take
          @channel.collect(:events, Marshal.dump([events, dropped])) unless events.empty?
          true
        end

        # Small units share a system call.
        def flush
          now = @child_context.clock.monotonic_us
          return if !@inbox.empty? && now - @flushed_at < TOGETHER_US
          @channel.flush
          @flushed_at = now
        end

        def run_unit(order)
          @shared_status.begin(order.id)
          lane = lane(order)
          unit = unit(order, lane)
          slot = ChildSlot.new(Consumer::Context.new(lane, @link))
          started = @child_context.clock.monotonic_us
          outcome = @runner.call(slot, unit)
          took_us = @child_context.clock.monotonic_us - started
          send_report(order, slot.context, outcome, took_us)
          @shared_status.clear # otherwise, without a report, the unit is to blame for the end of this process
        ensure
          lane&.marks&.end_ownership!
        end

        def send_report(order, context, outcome, took_us)
          context.marks.end_ownership! # later marks aren't reported any more
          @link.reporting { @channel.collect(:done, encoded(order, report(order, context, outcome, took_us))) }
        end

        # A value that can't be dumped is one of user code's, in an event or a tag. These are dropped; the outcome stays the same.
        def encoded(order, report)
          ReportCodec.encode(report)
        rescue => error
          undumpable = UnsupportedCaseError.new("events and tags of a call for #{order.topic_name}/#{order.partition} can't be " \
            "sent from its process to the application and are dropped: #{error.message}. Publish text, numbers, lists and hashes")
          @recorder.instrument("error.occurred", {type: "worker.process.error", error: undumpable, topic: order.topic_name,
            partition: order.partition})
          report.rest = {events: @recorder.take.first, **report.rest.slice(:blamed, :located, :flow, :error)}
          ReportCodec.encode(report)
        end

        def lane(order)
          topic = @child_context.topics.fetch(order.route)
          topic = topic.discover(order.topic_name) if topic.pattern?
          marks = ChildMarks.new(order.id, @shared_status, ->(*metadata) { @link.metadata(order.id, *metadata) })
          @inbox.set_marks(order.id, marks)
          ChildLane.new(topic, order.topic_name, order.partition, marks, order.metadata, order.id)
        end

        def unit(order, lane)
          batch = OrderBatch.new(order, @shared_status)
          batch.context = Messages::Context.new(lane.topic.deserializers, 0, lane.marks)
          messages = OrderMessages.new(batch, scheduled_ms: order.scheduled_ms)
          unit = Processing::Unit.new(lane, order.action, messages, nil, order.attempt, 0)
          unit.collapsed = order.collapsed
          unit
        end

        def report(order, context, outcome, took_us)
          events, dropped = @recorder.take
          rest = {blamed: outcome.blamed, located: located(outcome), flow: Flows.dump(outcome.flow),
                  error: outcome.error && Failure.dump(outcome.error)}
          rest[:events] = events unless events.empty?
          rest[:dropped] = dropped if dropped.positive?
          rest[:consumer] = context.consumer&.id unless events.empty?
          rest[:tags] = context.tags.map { |tag| String.new(tag) }
          rest.delete_if { |_name, value| value.nil? || value == [] }
          ReportCodec::Report.new(order.id, context.marks.through, took_us, outcome.finished, rest)
        end

        # @return [true, nil] whether it is known that the blamed record has failed
        def located(outcome) = (true if outcome.error && outcome.unit.messages.cursor)

        # The end of the stream means that the application is gone: there is nothing left to do.
        def read
          nil while @channel.read { |type, body| handle(type, body) }
          exit!(ORPHANED) unless @inbox.closed?
        rescue Frame::Damaged
          exit!(FAILED)
        end

        def handle(type, body)
          case type
          when :unit then @inbox << UnitCodec.decode(body)
          when :interrupt then interrupt(*Frame.value(body))
          when :recall then give_back(@inbox.recall)
          when :changed then changed(*Frame.value(body))
          when :answer then @link.answered(*Frame.value(body))
          when :stop then @inbox.close
          end
        end

        # @param values [Hash] the error to be raised in user code, see {Failure}
        def interrupt(unit, values)
          return if @inbox.interrupt(unit) { Failure.load(values) }
          give_back(@inbox.recall(unit))
        end

        # The reading thread never waits for the application to read: it may be writing to this process meanwhile, and would
        # wait for this thread. Reports that were collected before a long call are sent along, also if no unit is given back.
        # @param units [Array<Integer>] units that haven't begun
        def give_back(units)
          return if @channel.offer(:returned, Marshal.dump(units))
          @child_context.threads.start("penstock child writer") { @channel.flush }
        rescue SystemCallError, IOError, ThreadError
          nil # the application is gone, which is read next; or the worker's next report takes the frame along
        end

        def changed(unit, what)
          return @link.stopping! if what == :stopping
          marks = @inbox.marks(unit) or return
          (what == :disowned) ? marks.end_ownership! : marks.leave!
        end
      end
    end
  end
end
