# frozen_string_literal: true

require_relative "../../doubling"
require_relative "../../errors"
require_relative "group/stopping"
require_relative "held_name"
require_relative "mailbox"
require_relative "monitoring/no_partitions_warning"
require_relative "monitoring/topic_check"
require_relative "refusals"
require_relative "work/hooks"
require_relative "work/orphaned_units"

module Penstock
  module Runtime
    # Runs one subscription group: its thread is the only one that touches the group's connection, lanes and ledgers. It never
    # runs user code and never waits for a worker, a broker or a lock that a worker holds; it waits only in the driver, until a
    # lane has records, an event came, a worker posted an outcome, or a timer is due.
    #
    # {#run} is its thread's body. When the connection or the loop itself fails, it closes the connection, reports the error,
    # waits and opens another; units that run meanwhile end as usual, and their records are fetched again. Ends after {#stop}
    # has gone through its stages.
    class PollLoop
      SLOW_TURN_MS = 50
      NUDGE_MS = 2
      BUSY_MS = 20
      REOPEN_MS = (500..60_000)
      private_constant :SLOW_TURN_MS, :NUDGE_MS, :BUSY_MS, :REOPEN_MS

      attr_reader :group, :mailbox

      # @return [Integer, nil] when its last turn began (monotonic ms); nil before the first. Any thread
      attr_reader :turned_at

      # @return [Boolean] whether a stop ran out of time while units still ran
      attr_reader :forced

      # @return [Array<Processing::Unit>] those units
      attr_reader :interrupted_units

      # @param group [Routing::SubscriptionGroup]
      # @param process [ProcessContext] what all loops of an application share
      # @param connect [#call] opens a connection: returns a Native::Consumer that has subscribed
      def initialize(group, process, connect)
        @group = group
        @process = process
        @connect = connect
        @mailbox = Mailbox.new
        @orphaned_units = OrphanedUnits.new
        @hooks = Hooks.new(process.queue, process.pool)
        @failures = 0
        @forced = false
        @interrupted_units = []
        @finished = false
        @orders = []
        @recorder = process.recorder
        @held_name = HeldName.new
        @longest_wait, @all_lanes_ms = process.turn_intervals(group)
      end

      # The thread's body.
      def run
        until @finished
          begin
            open_and_turn
          rescue StandardError, ScriptError => error
            failed(error)
          end
        end
      ensure
        @mailbox.close
        state("stopped")
      end

      # @return [Boolean] whether it ended because of {#stop}
      def finished? = @finished

      # @return [Boolean] whether the connection failed during the stop, so that the last offsets weren't committed
      def cut_short? = @cut_short || false

      # Takes no new work; running units may end. Any thread.
      # @yield when nothing of this loop runs any more: once, on its thread; not if the loop stops before that
      def quiet(&when_quiet)
        @when_quiet = when_quiet
        @mailbox.post(:quiet)
      end

      # The number of workers has changed. Any thread.
      def scaled = @mailbox.post(:scaled)

      # Leaves the group by the deadline. Any thread; a later call may only shorten it.
      # @param deadline [Deadline]
      def stop(deadline)
        @orders << deadline
        @mailbox.post(:stop)
      end

      # @return [Boolean] whether it has a connection and runs turns; otherwise it waits before connecting again. Any thread
      def connected? = !@parts.nil?

      # @return [Array(Integer, Boolean)] how many partitions it has, and whether it is a member and no rebalance or offset
      #   look-up is in progress. Any thread
      def assignment_state
        parts = @parts or return [0, false]
        stable = parts.membership.member? && parts.rebalances.stable? # first: if true, the assigned lanes are there
        [parts.connection.lanes.size, stable]
      end

      # @return [Array<Array(Routing::Topic, Integer)>] partitions that are ours, also those about to be revoked. Any thread
      def assigned = lanes.select(&:owned?).map { |lane| [lane.topic, lane.partition] }

      # @return [Hash] for dumps; read by other threads, so its values may be of different moments
      def snapshot
        {subscription_group: @group.id, stage: @parts&.stopping&.stage, failures: @failures, lanes: lanes.map(&:snapshot)}
      end

      # @return [Boolean] whether a partition has records that wait to be taken. Any thread
      def records_wait? = lanes.any? { |lane| lane.takes.ready }

      # @return [LoopParts, nil] of the open connection. On the loop's thread, or where all loops run on one thread
      # @api private
      attr_reader :parts

      # @return [Array<Hash>] contents of the flight recorder, one hash per lane; any thread
      def recording = @recorder ? @recorder.to_a : []

      LOADING = Mutex.new
      private_constant :LOADING

      private

      def lanes = @parts&.connection&.all || []

      def open_and_turn
        state("starting")
        driver = @connect.call(@group)
        LOADING.synchronize { load_parts }
        @mailbox.wake = driver.method(:wakeup)
        @parts = LoopParts.new(@group, driver, @process, @mailbox, @orphaned_units, @hooks)
        @parts.recorder = @recorder
        @rests = @undisturbed = false
        @all_lanes_at = @parts.connection.now + @all_lanes_ms
        repeat_orders
        state("running")
        topic_check(driver)
        turn until @parts.stopping.done?
        finish
      ensure
        close(driver) if driver
      end

      # Loads a quarter of the code while the client joins its group. One loop at a time, because loops that load at the same time
      # contend for Ruby's lock. When Ruby can't open a file for want of descriptors, it raises LoadError as if the file didn't
      # exist; opening it here raises the actual error.
      def load_parts
        require_relative "loop_parts"
      rescue LoadError => error
        path = "#{error.path}.rb"
        File.open(path, &:close) if File.exist?(path)
        raise
      end

      def topic_check(driver)
        topic_check = TopicCheck.new(@group, driver, @process.reporter, @parts.connection.missing)
        @process.threads.start("penstock topic check") { topic_check.run } if topic_check.wanted?
      end

      # One turn of the loop.
      def turn
        woken = @parts.connection.driver.wait(@undisturbed ? rest_ms : wait_ms)
        @turned_at = @stage_began = @parts.connection.read_clocks
        came = handle_events
        return if (@undisturbed = !woken && !came && undisturbed?)
        measured(:events) if came
        unless @mailbox.empty?
          read_mailbox
          measured(:outcomes)
        end
        look_at_all if @turned_at >= @all_lanes_at
        work
        measured(:feeding)
      end

      def undisturbed? = @rests && @mailbox.empty? && !timers? && !@process.queue.quick_units? && @turned_at < @all_lanes_at

      # A safeguard: if a defect leaves out a lane that has something to do, or continues a wait too long, this ends it.
      def look_at_all
        @all_lanes_at = @turned_at + @all_lanes_ms
        @parts.connection.active.add_all
      end

      def work
        @parts.slots.run
        if timers?
          run_timers
          measured(:timers)
        end
        became_quiet if @when_quiet && @parts.stopping.stage == :quiet
        release_stuck if @process.queue.quick_units?
        @parts.insights.run
        @parts.feeder.run
        @parts.ticker.run
        @parts.connection.active.drop_inactive
      end

      # Computes how long the loop may wait. A wait that ends by itself, when nothing was posted, no event came and no timer is
      # due, has changed none of it: the next one begins at once ({#rest_ms}).
      def wait_ms
        return busy if @parts.feeder.find_records
        collect_ms = @parts.collect_ms
        return busy if @mailbox.begin_wait(!collect_ms.nil?)
        @due = @parts.next_due
        @rests = !@process.queue.quick_units?
        @longest = @rests ? [collect_ms || @longest_wait, @longest_wait].min : NUDGE_MS
        rest_ms
      end

      def rest_ms = @due ? (@due - @parts.connection.now).clamp(0, @longest) : @longest

      # A busy loop doesn't compute the next timer on every turn, but it still checks timers every {BUSY_MS}.
      def busy
        soon = @parts.connection.now + BUSY_MS
        @due = soon if @due.nil? || @due > soon
        @rests = false
        0
      end

      def timers? = @parts.timers_pending? || (@due && @parts.connection.now >= @due)

      # Quick units are left to the worker that runs them; one of them may turn out to be slow.
      def release_stuck = @process.pool.grow(@process.queue.release_stuck(@parts.connection.now, NUDGE_MS))

      # @return [Boolean] whether there was an event, or a lane became ready
      def handle_events
        driver = @parts.connection.driver
        events = 0
        while (event = driver.poll_event)
          events += 1
          @parts.events.call(event)
        end
        @parts.connection.active.add_all if events.positive?
        ready = driver.ready_lanes
        ready.each { |id| @parts.ready(id) }
        events.positive? || !ready.empty?
      end

      def read_mailbox
        messages = @mailbox.take_all
        while (message = messages.shift)
          (Processing::Outcome === message) ? outcome(message) : asked(message)
        end
      ensure
        @mailbox.put_back(messages) unless messages.nil? || messages.empty?
      end

      def asked(message)
        case message
        when :quiet then quiet_now
        when :stop then stop_now
        when :scaled then @parts.update_widths
        else @parts.handle(message)
        end
        @parts.connection.active.add_all
      end

      def outcome(outcome)
        @parts.settler.call(outcome)
        @failures = 0
      end

      def quiet_now
        @quiet = true
        state("quieting")
        @parts.stopping.quiet
      end

      def stop_now
        deadline = @orders.last
        @parts.stopping.stop(deadline) if deadline
      end

      # A connection that was re-opened during a stop continues the stop.
      def repeat_orders
        quiet_now if @quiet
        stop_now
      end

      def run_timers
        @due = nil
        @parts.run_timers
      end

      # A stage of the turn has ended; the next one begins.
      def measured(stage)
        now = @process.clock.monotonic_ms
        took = now - @stage_began
        @stage_began = now
        return if took < SLOW_TURN_MS
        @process.reporter.emit("poll_loop.slow",
          {subscription_group: @group, stage: stage, stages: {stage => took}, time: took.to_f})
      end

      def finish
        @finished = true
        @forced = @parts.stopping.forced?
        @interrupted_units = @parts.stopping.interrupted_units
        state("stopping")
      end

      # Units of this connection's lanes may still run: they are remembered, so that the same partition waits for them.
      def close(driver)
        parts, @parts = @parts, nil
        @mailbox.wake = -> {}
        parts&.abandon
      ensure
        driver.close(close_ms)
        parts&.closed
      end

      def close_ms
        left = @orders.last&.remaining_ms || 5_000
        (left - 500).clamp(1_000, 5_000)
      end

      def failed(error)
        @failures += 1
        @process.dump_flight("loop error", [self]) unless Refusals.include?(error)
        @process.stop_because(error) if @held_name.given_up(error, @process.clock.monotonic_ms)
        pause = Doubling.wait(REOPEN_MS.begin, @failures - 1, REOPEN_MS.end)
        @process.reporter.emit("error.occurred", {type: Refusals.type_of(error), error: error, **@group.ids})
        return end_unconnected if @orders.any?
        @process.reporter.emit("client.reset", {subscription_group: @group})
        wait_out(@process.clock.monotonic_ms + pause) { @orders.any? }
        end_unconnected if @orders.any?
      end

      # A stop without a connection: nothing can be committed any more; running units may end until their time is up.
      def end_unconnected
        @cut_short = true
        deadline = @orders.last
        reserve = Stopping.reserve_ms(deadline.remaining_ms)
        wait_out(deadline.at_ms - reserve) { @orphaned_units.empty? }
        @interrupted_units = @process.pool.interrupt(@orphaned_units.values)
        wait_out(deadline.at_ms - reserve / 2) { @orphaned_units.empty? }
        @forced = @orphaned_units.any? || @interrupted_units.any?
        @finished = true
      end

      # Reads the mailbox until the time (monotonic ms) or until the block is true. The outcomes' lanes no longer exist: the
      # outcomes are only removed from the list of running units.
      def wait_out(ends)
        until yield || (left = ends - @process.clock.monotonic_ms) <= 0
          case (message = @mailbox.wait(left))
          when Processing::Outcome then orphaned(message)
          when CommitWait then message.resolve(false)
          when Consumer::Claim then message.refuse
          when Consumer::Claim::TransactionEnd then transaction_ended(message)
          when :quiet then @quiet = true
          end
          became_quiet if @when_quiet && @quiet && @orphaned_units.empty?
        end
        @mailbox.put_back(@unresolved.slice!(0..)) if @unresolved
      end

      def became_quiet
        callback, @when_quiet = @when_quiet, nil
        callback.call
      end

      # The lane no longer exists: only a deferred outcome waits for the end of its transaction.
      def transaction_ended(transaction_end)
        claim, fate = transaction_end.to_a
        return resolve(transaction_end) if fate == :unknown
        claim.lane.offset_slot.close(claim)
        outcome, claim.outcome = claim.outcome, nil
        orphaned(outcome) if outcome
      end

      # Where no thread can be started now, the message waits for the next connection.
      def resolve(transaction_end)
        transaction_end.claim.resolving = @process.resolve_transaction(transaction_end.claim, @mailbox)
        (@unresolved ||= []) << transaction_end unless transaction_end.claim.resolving
      end

      def orphaned(outcome)
        lane = outcome.unit.lane
        lane.recording&.outcome(outcome, @process.clock.monotonic_ms)
        lane.returned(outcome.unit)
        lane.suspects&.ended(outcome.unit) if outcome.unit.consume?
        lane.put_back(@process.queue.withdraw(lane.assignment.slot, unstall: true)) if outcome.stalls?
        @hooks.ended(lane)
        @orphaned_units.ended(lane, outcome.unit, nil)
      end

      def state(name)
        @process.reporter.emit("connection.listener.#{name}", {subscription_group: @group})
      end
    end
  end
end
