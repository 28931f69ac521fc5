# frozen_string_literal: true

require_relative "../../errors"
require_relative "../errors"
require_relative "in_flight"
require_relative "batch_sizer"
require_relative "reply"
require_relative "report_codec"
require_relative "unit_codec"
require_relative "watch"

module Penstock
  module Execution
    module Processes
      # Drives one child process: takes units from the run queue, sends them, and turns the answers into outcomes. Owned by the
      # {Pool}; one thread runs it until the queue is closed. The child is forked when the first unit comes, and forked again
      # after it has died.
      #
      # Small units are sent several at once. If one of them takes long, the units queued after it in the child are recalled, so
      # that another child can take them. When a child dies, one unit is to blame: the one it was running. The others it had been
      # sent never began; they go back to the run queue.
      class ChildDriver
        # How soon marks, interrupts and a partition's revocation are passed on.
        SLICE_S = 0.05
        # Children that died in a row before they began a unit, after which the first unit they were sent is blamed.
        UNLUCKY = 3
        private_constant :SLICE_S, :UNLUCKY

        # @return [InFlight]
        attr_reader :in_flight

        # @param queue [#take, #finished, #put_back] the queue of its units
        # @param mold [MoldHandle]
        # @param routes [#call] returns a topic's position in the {ChildContext}
        # @param local [#call] runs units that are not for a child (the user's filters)
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
          @unlucky = 0
          @hearing = Mutex.new
          @resting = false
        end

        # The thread's body: runs until the queue is closed and every unit has come back.
        def run
          turn until @closed
          part
        end

        # Kills the child, when a stop runs out of time. Any thread.
        def kill! = @killed = true

        # @return [IO, nil, false] the child's socket, for the listener to watch while this driver's thread waits for a unit; nil
        #   without a child, false while the driver reads from its child itself
        def idle_socket
          return false unless @resting
          child = @child
          child.socket unless child.nil? || child.gone?
        end

        # Reads what an idle child has sent: threads that user code left running there send requests. Any thread.
        # @return [Boolean] false when the driver is no longer idle and reads by itself
        def read_while_idle
          @hearing.synchronize do
            child = @child if @resting
            next false unless child
            child.read(0) { |type, body| heard(type, body) }
            true
          end
        end

        private

        def turn
          fill
          listen unless @in_flight.empty?
        rescue => error
          give_up(error)
        ensure
          wake
        end

        def fill
          return if @in_flight.size.positive? && (@stuck || !@sizer.hungry?(@in_flight.size))
          accept(rest { @queue.take }) if @in_flight.empty?
          while !@in_flight.empty? && @sizer.room?(@in_flight.size, @queue.idle) && (pair = @queue.take(wait: false))
            accept(pair)
          end
          @child&.flush
        end

        # During the block the listener reads from the child.
        def rest
          @hearing.synchronize { @resting = true }
          yield
        ensure
          @hearing.synchronize { @resting = false }
        end

        # @param pair [Array(Slot, Processing::Unit), nil] nil: the queue is closed
        def accept(pair)
          return @closed = true unless pair
          slot, unit = pair
          elsewhere?(unit) ? send_off(slot, unit) : finish(slot, unit, @local.call(slot, unit))
        end

        # A quarantined record is not run: its dead letter is made here.
        def elsewhere?(unit) = UnitCodec::ACTIONS.include?(unit.action) && unit.crashes.nil?

        def send_off(slot, unit)
          entry = @in_flight.add(slot, unit)
          @reply.began(unit)
          start_child unless @child
          @child.unit(UnitCodec.encode(entry.id, @routes.call(unit.lane.topic), unit))
        end

        def start_child
          @child = @mold.child
          @watch = Watch.new(@child, @in_flight, @child_context)
          @report.call("process_pool.child_started", {pid: @child.pid})
          @listener.child_started(self)
        end

        def listen
          @child.kill if @killed
          case @child.read(SLICE_S) { |type, body| heard(type, body) }
          when false then child_died
          when nil then silent
          else @watch.look
          end
        end

        # Once for all outcomes that arrived together: a turn of the poll loop costs more than a small unit.
        def wake
          @posted.each(&:wake_up)
          @posted.clear
        end

        # The child has been silent for a while: units queued after its long one are recalled for other children, and it gets no
        # new ones.
        def silent
          @stuck = true
          @watch.look(force: true)
          @child.tell(:recall, nil) if @in_flight.size > 1
        end

        def heard(type, body)
          case type
          when :done then done(ReportCodec.decode(body))
          when :returned then returned(Frame.value(body))
          when :question then @watch.question(*Frame.value(body))
          when :wish then @watch.wish(*Frame.value(body))
          end
        end

        def done(report)
          entry = @in_flight[report.unit] or return
          @unlucky = 0
          @stuck = false
          @sizer.record_time(report.took_us / 1_000.0)
          entry.mark(report.through)
          entry.unit.number_fresh_records
          outcome = @reply.outcome(entry, report)
          @in_flight.delete(entry.id)
          finish(entry.slot, entry.unit, outcome)
        end

        # Reported to the run queue first: see {RunQueue} on stalls.
        def finish(slot, unit, outcome)
          @queue.finished(slot, unit, outcome.stalls?)
          slot.mailbox.post_quietly(outcome)
          @posted << slot.mailbox unless @posted.include?(slot.mailbox)
        end

        # These units hadn't begun: another child may take them, unless they are no longer wanted.
        def returned(ids)
          ids.filter_map { |id| @in_flight.delete(id) }.each do |entry|
            next finish(entry.slot, entry.unit, @reply.interrupted(entry)) unless entry.wanted?
            @queue.put_back(entry.slot, entry.unit)
          end
        end

        # The child is dead. Its shared status shows at which record.
        def child_died
          state = @child.state
          status = @child.status
          @report.call("process_pool.child_died", {pid: @child.pid, reason: WorkerDied.reason(*status)})
          culprit = culprit(state)
          outcome = culprit && @reply.died(culprit, @child.pid, status, state)
          forget
          finish(culprit.slot, culprit.unit, outcome) if culprit
          returned(@in_flight.to_a.map(&:id))
        end

        def culprit(state)
          entry = state && @in_flight[state.unit]
          @unlucky = entry ? 0 : @unlucky + 1
          entry ||= @in_flight.to_a.first if @unlucky >= UNLUCKY
          return unless entry
          entry.mark(state&.through)
          @in_flight.delete(entry.id)
        end

        def forget
          @child&.close
          @child = @watch = nil
          @stuck = false
        end

        # A defect of ours, or no child could be forked: the units that were in flight have failed, and are retried like others.
        def give_up(error)
          forget
          @in_flight.to_a.each do |entry|
            @in_flight.delete(entry.id)
            finish(entry.slot, entry.unit, @reply.failed(entry, error))
          end
        end

        # The child flushes its producer and ends.
        def part
          return unless @child
          @child.stop
          until @child.gone?
            @child.kill if @killed
            @child.read(SLICE_S) { nil }
          end
        ensure
          forget
        end
      end
    end
  end
end
