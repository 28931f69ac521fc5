# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../on_demand"
require_relative "in_flight"
require_relative "batch_sizer"
require_relative "reply"
require_relative "report_codec"
require_relative "unit_codec"
require_relative "child_watch"
require_relative "mold_handle"
Penstock.load_constant :WorkerDied

module Penstock
  module Execution
    module Processes
      # Drives one child process: takes units from the run queue, sends them, and turns the answers into outcomes. Owned by the
      # {Pool}; one thread runs it until the queue is closed. The child is forked when the first unit comes, and forked again
      # after it has died.
      #
      # Small units are sent several at once. If one of them takes long, the units queued after it in the child are recalled, so
      # that another child can take them. When a child dies, one unit is blamed: the one it was running. The other units it had
      # been sent never began and are returned to the run queue.
      class ChildDriver
        # Interval at which marks, interrupts and a partition's revocation are passed on.
        SLICE_S = 0.05
        # Number of children in a row that died before they began a unit, after which the first unit they were sent is blamed.
        EARLY_DEATHS = 3
        private_constant :SLICE_S, :EARLY_DEATHS

        # @return [InFlight]
        attr_reader :in_flight

        # @param queue [#take, #finished, #put_back] the queue of its units
        # @param mold [MoldHandle]
        # @param routes [#call] returns a topic's position in the {ChildContext}
        # @param local [#call, #broken] runs units that are not for a child (the user's filters)
        # @param reply [Reply]
        # @param report [#call] receives the name and payload of an event
        # @param child_context [ChildContext]
        # @param listener [#child_started] is notified of each child
        def initialize(queue:, mold:, routes:, local:, reply:, report:, child_context:, listener:)
          @child_context = child_context
          @listener = listener
          @queue = queue
          @mold = mold
          @routes = routes
          @local = local
          @reply = reply
          @report = report
          @in_flight = InFlight.new
          @sizer = BatchSizer.new
          @posted = []
          @early_deaths = 0
          @reading = Mutex.new
          @idle = false
        end

        # The thread's body: runs until the queue is closed and every unit has come back, or until no child can be created. If
        # user code ends the thread, another thread may call it again.
        # @return [NoChild, nil] why there is no child: the units are in the run queue again, for the next driver
        def run
          turn until @closed || @childless
          end_child
          @childless
        end

        # No thread runs it any more: its units count as failed.
        # @param error [Exception]
        def abandon(error)
          fail_all(error)
          wake
        end

        # Kills the child, when a stop runs out of time. Any thread.
        def kill! = @killed = true

        # @return [IO, nil, false] the child's socket, for the listener to watch while this driver's thread waits for a unit; nil
        #   without a child, false while the driver reads from its child itself
        def idle_socket
          return false unless @idle
          child = @child
          child.socket unless child.nil? || child.gone?
        end

        # Reads what an idle child has sent: threads that user code left running there send requests. Any thread.
        # @return [Boolean] false when the driver is no longer idle and reads by itself
        def read_while_idle
          @reading.synchronize do
            child = @child if @idle
            next false unless child
            child.read(0) { |type, body| handle(type, body) }
            true
          end
        end

        private

        def turn
          fill
          listen unless @in_flight.empty?
        rescue NoChild => error
          forget
          @childless = error
          returned(@in_flight.to_a.map(&:id))
        rescue => error
          fail_all(error)
        ensure
          wake
        end

        def fill
          return if @in_flight.size.positive? && (@busy || !@sizer.refill?(@in_flight.size))
          accept(while_idle { @queue.take }) if @in_flight.empty?
          while !@in_flight.empty? && @sizer.room?(@in_flight.size, @queue.idle) && (pair = @queue.take(wait: false))
            accept(pair)
          end
          @child&.flush
        end

        # During the block the listener reads from the child.
        def while_idle
          @reading.synchronize { @idle = true }
          yield
        ensure
          @reading.synchronize { @idle = false }
        end

        # @param pair [Array(Slot, Processing::Unit), nil] nil: the queue is closed
        def accept(pair)
          return @closed = true unless pair
          slot, unit = pair
          for_child?(unit) ? send_unit(slot, unit) : run_here(slot, unit)
        end

        def run_here(slot, unit) = finishing(slot, unit) { @local.call(slot, unit) }

        # User code that is called in the block, such as a filter or a retry strategy, may end the thread.
        # @yieldreturn [Processing::Outcome]
        def finishing(slot, unit)
          outcome = yield
        rescue => error
          outcome = @reply.failed(unit, error)
        ensure
          finish(slot, unit, outcome || @local.broken(unit))
        end

        # A quarantined record is not run: its dead letter is built in this process.
        def for_child?(unit) = UnitCodec::ACTIONS.include?(unit.action) && unit.runs?

        # A listener of the events may end the thread; on an error {#turn} fails all units in flight.
        def send_unit(slot, unit)
          entry = @in_flight.add(slot, unit)
          start_child unless @child
          @reply.began(unit)
          @child.unit(UnitCodec.encode(entry.id, @routes.call(unit.lane.topic), unit))
          through = true
        rescue
          through = true
          raise
        ensure
          finish(slot, @in_flight.delete(entry.id).unit, @local.broken(unit)) unless through
        end

        # @raise [NoChild]
        def start_child
          @child = @mold.child
          @watch = ChildWatch.new(@child, @in_flight, @child_context)
          listen_while_idle
          @report.call("process_pool.child_started", {pid: @child.pid})
        end

        def listen_while_idle
          @listener.child_started(self)
        rescue SystemCallError, ThreadError => error
          raise NoChild.short_of(error)
        end

        def listen
          @child.kill if @killed
          case @child.read(SLICE_S) { |type, body| handle(type, body) }
          when false then child_died
          when nil then child_silent
          else @watch.check
          end
        end

        # Wakes the poll loops once for all outcomes that arrived together: a turn of a poll loop costs more than a small unit.
        def wake
          @posted.each(&:wake_up)
          @posted.clear
        end

        # The child has sent nothing for a while: units queued after its long one are recalled for other children, and it gets no
        # new ones.
        def child_silent
          @busy = true
          @watch.check(force: true)
          @child.send_value(:recall, nil) if @in_flight.size > 1
        end

        def handle(type, body)
          case type
          when :done then done(ReportCodec.decode(body))
          when :returned then returned(Frame.value(body))
          when :query then @watch.query(*Frame.value(body))
          when :request then @watch.request(*Frame.value(body))
          when :events then @reply.events(*Frame.value(body))
          end
        end

        def done(report)
          entry = @in_flight[report.unit] or return
          @early_deaths = 0
          @busy = false
          @sizer.record_time(report.took_us / 1_000.0)
          entry.mark(report.through)
          entry.unit.number_fresh_records
          @in_flight.delete(entry.id)
          finishing(entry.slot, entry.unit) { @reply.outcome(entry, report) }
        end

        # Reported to the run queue first: see {RunQueue} on stalls.
        def finish(slot, unit, outcome)
          @queue.finished(slot, unit, outcome.stalls?)
          slot.mailbox.post_quietly(outcome)
          @posted << slot.mailbox unless @posted.include?(slot.mailbox)
        end

        # Returns units that hadn't begun to the run queue, for another child, unless they are no longer wanted.
        def returned(ids)
          ids.filter_map { |id| @in_flight.delete(id) }.each do |entry|
            next finish(entry.slot, entry.unit, @reply.interrupted(entry)) unless entry.wanted?
            @queue.put_back(entry.slot, entry.unit)
          end
        end

        # The child is dead. Its shared status shows at which record.
        def child_died
          pid, state, status = @child.pid, @child.state, @child.status
          @report.call("process_pool.child_died", {pid: pid, reason: WorkerDied.reason(*status)})
          forget
          blamed = blamed_entry(state)
          finishing(blamed.slot, blamed.unit) { @reply.died(blamed, pid, status, state) } if blamed
        ensure
          returned(@in_flight.to_a.map(&:id))
        end

        def blamed_entry(state)
          entry = state && @in_flight[state.unit]
          @early_deaths = entry ? 0 : @early_deaths + 1
          entry ||= @in_flight.to_a.first if @early_deaths >= EARLY_DEATHS
          return unless entry
          entry.mark(state&.through)
          @in_flight.delete(entry.id)
        end

        def forget
          @child&.close
          @child = @watch = nil
          @busy = false
        end

        # Called after a defect in Penstock, or when no thread could be started: the units in flight count as failed, and are
        # retried like others.
        def fail_all(error)
          forget
          @in_flight.to_a.each do |entry|
            @in_flight.delete(entry.id)
            finish(entry.slot, entry.unit, @reply.failed(entry.unit, error))
          end
        end

        # The child flushes its producer and ends.
        def end_child
          return unless @child
          @child.stop
          until @child.gone?
            @child.kill if @killed
            @child.read(SLICE_S) { |type, body| handle(type, body) if type == :events }
          end
        ensure
          forget
        end
      end
    end
  end
end
