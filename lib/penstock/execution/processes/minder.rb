# frozen_string_literal: true

require_relative "../../errors"
require_relative "../errors"
require_relative "flight"
require_relative "pace"
require_relative "reply"
require_relative "report_codec"
require_relative "unit_codec"
require_relative "watch"

module Penstock
  module Execution
    module Processes
      # Looks after one child: takes units from the run queue, sends them, turns what comes back into outcomes. One thread, as
      # long as the pool lives; the child is made when there is something for it, and made anew when it died.
      #
      # Small units are sent several at once. Where one of those takes long all the same, what waits behind it in the child is
      # called back, for another child to take. A child that dies has one culprit, the unit it stood in; the others it had been
      # sent never began and are handed out again.
      class Minder
        # How soon marks, interrupts and a partition's end are passed on.
        SLICE_S = 0.05
        # Children that die before they begin a unit: after so many in a row it isn't bad luck.
        UNLUCKY = 3
        private_constant :SLICE_S, :UNLUCKY

        # @return [Flight]
        attr_reader :flight

        # @param queue [#take, #finished, #put_back] where units wait
        # @param mold [MoldHandle]
        # @param routes [#call] gives a topic's position in the kit
        # @param local [#call] runs what isn't for a child (the user's filters)
        # @param reply [Reply]
        # @param report [#call] receives the name and payload of an event
        # @param kit [Kit]
        # @param listener [#born] is told of each child
        def initialize(queue:, mold:, routes:, local:, reply:, report:, kit:, listener:)
          @kit = kit
          @listener = listener
          @queue = queue
          @mold = mold
          @routes = routes
          @local = local
          @reply = reply
          @report = report
          @flight = Flight.new
          @pace = Pace.new
          @posted = []
          @unlucky = 0
          @hearing = Mutex.new
          @resting = false
        end

        # The thread's body: until the queue is closed and everything has come back.
        def run
          turn until @closed
          part
        end

        # The child is to be killed: a stop's time is over. Any thread.
        def kill! = @killed = true

        # @return [IO, nil, false] what to listen to while its own thread waits for a unit; nil where there is nothing, false
        #   while it hears its child itself
        def ear
          return false unless @resting
          child = @child
          child.socket unless child.nil? || child.gone?
        end

        # Something has come while the child has no unit: threads that user code left there wish for something. Any thread.
        # @return [Boolean] whether that was so
        def overhear
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
          listen unless @flight.empty?
        rescue => error
          give_up(error)
        ensure
          wake
        end

        def fill
          return if @flight.size.positive? && (@stuck || !@pace.hungry?(@flight.size))
          accept(rest { @queue.take }) if @flight.empty?
          while !@flight.empty? && @pace.room?(@flight.size, @queue.idle) && (pair = @queue.take(wait: false))
            accept(pair)
          end
          @child&.flush
        end

        # Its child is heard by another meanwhile.
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

        # Of a record that isn't run any more only the dead letter is made.
        def elsewhere?(unit) = UnitCodec::ACTIONS.include?(unit.action) && unit.crashes.nil?

        def send_off(slot, unit)
          entry = @flight.add(slot, unit)
          @reply.began(unit)
          newborn unless @child
          @child.unit(UnitCodec.encode(entry.id, @routes.call(unit.lane.topic), unit))
        end

        def newborn
          @child = @mold.child
          @watch = Watch.new(@child, @flight, @kit)
          @report.call("process_pool.child_started", {pid: @child.pid})
          @listener.born(self)
        end

        def listen
          @child.kill if @killed
          case @child.read(SLICE_S) { |type, body| heard(type, body) }
          when false then buried
          when nil then silent
          else @watch.look
          end
        end

        # Once for all outcomes that came together: a turn of the loop costs more than a small unit.
        def wake
          @posted.each(&:wake_up)
          @posted.clear
        end

        # Nothing for a while: what waits behind the unit that takes so long is for others, and so is what comes.
        def silent
          @stuck = true
          @watch.look(force: true)
          @child.tell(:recall, nil) if @flight.size > 1
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
          entry = @flight[report.unit] or return
          @unlucky = 0
          @stuck = false
          @pace.took(report.took_us / 1_000.0)
          entry.mark(report.through)
          outcome = @reply.outcome(entry, report)
          @flight.delete(entry.id)
          finish(entry.slot, entry.unit, outcome)
        end

        # The run queue first: see RunQueue on stalls.
        def finish(slot, unit, outcome)
          @queue.finished(slot, unit, !outcome.smooth?)
          slot.mailbox.post_quietly(outcome)
          @posted << slot.mailbox unless @posted.include?(slot.mailbox)
        end

        # They hadn't begun: somebody else may have them, unless nobody wants them any more.
        def returned(ids)
          ids.filter_map { |id| @flight.delete(id) }.each do |entry|
            next finish(entry.slot, entry.unit, @reply.interrupted(entry)) unless entry.wanted?
            @queue.put_back(entry.slot, entry.unit)
          end
        end

        # The child is dead. Its page tells in which record.
        def buried
          state = @child.state
          status = @child.status
          @report.call("process_pool.child_died", {pid: @child.pid, reason: WorkerDied.reason(*status)})
          culprit = culprit(state)
          outcome = culprit && @reply.died(culprit, @child.pid, status, state)
          forget
          finish(culprit.slot, culprit.unit, outcome) if culprit
          returned(@flight.to_a.map(&:id))
        end

        def culprit(state)
          entry = state && @flight[state.unit]
          @unlucky = entry ? 0 : @unlucky + 1
          entry ||= @flight.to_a.first if @unlucky >= UNLUCKY
          return unless entry
          entry.mark(state&.through)
          @flight.delete(entry.id)
        end

        def forget
          @child&.close
          @child = @watch = nil
          @stuck = false
        end

        # A defect of ours, or no child to be had: units that were on their way have failed, and are tried again as others are.
        def give_up(error)
          forget
          @flight.to_a.each do |entry|
            @flight.delete(entry.id)
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
