# frozen_string_literal: true

require_relative "../compat/karafka/server"
require_relative "../deadline"
require_relative "../errors"
require_relative "../runtime/multiplexer"
require_relative "../runtime/loop/poll_loop"
require_relative "compiler"
require_relative "exit_codes"
require_relative "health"
require_relative "heap_room"
require_relative "signals"
require_relative "thread_dump"
require_relative "workers"

module Penstock
  module Server
    extend Compat::Karafka::Server

    # Runs one server process from its first poll loop to its exit code. Owns the threads of the loops; runs on the
    # thread that called {#run}, which sleeps on the signal queue and never touches a Kafka handle.
    #
    # A stop has one deadline for everything: first the loops stop (units end, late ones are interrupted, offsets are
    # committed, the group is left), then workers end, then the producer is flushed. A second stop signal shortens the
    # time to 5 s, a third ends the process at once.
    class Launcher
      SECOND_SIGNAL_MS = 5_000
      # Part of the shutdown timeout reserved for the producer, after the workers.
      PRODUCER_MS = 2_000
      # A node without a supervisor is ended after 4 s.
      ORPHANED_MS = 3_500
      # Action of a poll loop by stage of its stop; after the last stage, and without a connection, it closes.
      STILL = Hash.new("closed its connection").merge(running: "worked", quiet: "worked", draining: "waited for its jobs",
        interrupting: "waited for its jobs", hooks: "ran shutdown hooks", committing: "committed its last offsets").freeze
      private_constant :SECOND_SIGNAL_MS, :PRODUCER_MS, :ORPHANED_MS, :STILL

      # Posted by the thread of a loop as its last action.
      LoopEnded = Struct.new(:poll_loop)
      # Posted by a poll loop when nothing of it runs any more after {#quiet!}.
      LoopQuiet = Struct.new(:poll_loop)
      private_constant :LoopQuiet

      # @param host [Runtime::ProcessContext]
      # @param loops [Array<Runtime::PollLoop>] the initial loops
      # @param lifecycle [Lifecycle]
      # @param signals [Signals]
      # @param close_producer [#call] closes the application's producer within the ms given
      # @param multiplexer [Runtime::Multiplexer, nil] requests loops to be added and removed
      # @param exit_now [#call] ends the process at once with a code
      def initialize(host:, loops:, lifecycle:, signals:, close_producer:, multiplexer: nil, exit_now: ->(code) { exit!(code) })
        @host = host
        @loops = loops
        @lifecycle = lifecycle
        @signals = signals
        @close_producer = close_producer
        @multiplexer = multiplexer
        @exit_now = exit_now
        @workers = Workers.new(host, method(:scale))
        @stops = 0
        @deadline = nil
        @ended = []
        @leaving = []
        @unquiet = []
        @misconfigured = @orphaned = false
        @code = ExitCodes::OK
      end

      # Runs until a stop is complete.
      # @param traps [Boolean] whether to install signal handlers
      # @return [Integer] exit code
      def run(traps: true)
        @signals.install if traps
        start
        handle_safely(@signals.wait) until ended?
        wind_down
      ensure
        @signals.restore if traps
      end

      # Any thread.
      def quiet! = @signals.post(:quiet)

      # Any thread.
      # @param error [Exception, nil] the reason, if the stop isn't requested from outside
      def stop!(error = nil) = @signals.post(error || :stop)

      # Logs what every thread does. Any thread.
      def dump! = @signals.post("TTIN")

      # Ends the holds of all open breakers. Any thread.
      def close_breakers! = @signals.post(:close_breakers)

      # The supervisor of this node is gone. Any thread.
      def orphaned! = @signals.post(:orphaned)

      # @return [Health] any thread
      def health
        Health.of(@lifecycle.state, @loops.dup, @host.pool.running.size, @host.clock.monotonic_ms, @host.breakers.open,
          @worker_watch&.to_h)
      end

      # @return [Array<Hash>] for dumps
      def snapshot = @loops.map(&:snapshot)

      # @return [Array<Array(Routing::Topic, Integer)>] partitions assigned to this process
      def assigned = @loops.flat_map(&:assigned)

      # @return [Workers]
      attr_reader :workers

      private

      def start
        rescaled(0, @host.worker_count)
        @lifecycle.enter(:running)
        @worker_watch = watch_workers if @host.settings.lock_metrics
        @threads = @loops.map { |poll_loop| thread(poll_loop) }
        @multiplexer&.watch(@host.threads) { |change| @signals.post(change) }
        HeapRoom.make # while the loops wait for their groups
      end

      # Loaded only with `lock_metrics`.
      def watch_workers
        require_relative "worker_watch"
        WorkerWatch.new(@host, -> { @loops.dup }).start
      end

      # @return [Integer] the maximum before
      def scale(count)
        before = @host.scale(count)
        @loops.each(&:scaled)
        rescaled(before, count)
        before
      end

      def rescaled(from, to)
        return if from == to
        @host.monitor.instrument((to > from) ? "worker.scaling.up" : "worker.scaling.down",
          {workers_pool: @workers, from: from, to: to})
      end

      def thread(poll_loop)
        @host.threads.start("penstock #{poll_loop.group.id}") do
          poll_loop.run
        ensure
          @signals.post(LoopEnded.new(poll_loop))
        end
      end

      # A loop reports itself that it has ended; its thread may live slightly longer.
      def ended? = @ended.size == @loops.size || @deadline&.expired?

      # The process must stay stoppable even if a listener or a logger raises.
      def handle_safely(message)
        handle(message)
      rescue => error
        @host.reporter.emit("error.occurred", {type: "runner.call.error", error: error})
      end

      def handle(message)
        case message
        when *Signals::STOP, "HUP" then notice(message) { stop }
        when "TSTP" then notice(message) { quiet }
        when :quiet then quiet
        when :stop then stop
        when :orphaned then orphaned
        when :close_breakers then @host.breakers.close_by_hand
        when "TTIN" then notice(message) { dump }
        when LoopEnded then loop_ended(message.poll_loop)
        when LoopQuiet then loop_quiet(message.poll_loop)
        when Runtime::Multiplexer::Change then reconnect(message)
        when Exception then stop_because(message)
        end
      end

      def notice(name)
        @host.monitor.instrument("process.notice_signal", {signal: name.to_sym})
        yield
      end

      # Once the process becomes quiet or stops, its connections don't change.
      def reconnect(change)
        return if @lifecycle.done?
        return stop_loop(change.poll_loop) if change.direction == :down
        @loops << change.poll_loop
        @threads << thread(change.poll_loop)
      end

      def stop_loop(poll_loop)
        @leaving << poll_loop
        poll_loop.stop(Deadline.in(@host.settings.shutdown_timeout, clock: @host.clock))
      end

      def quiet
        return unless @lifecycle.enter(:quieting)
        @host.stopping!
        @unquiet = @loops.dup
        @loops.each { |poll_loop| poll_loop.quiet { @signals.post(LoopQuiet.new(poll_loop)) } }
      end

      # A stop that has begun meanwhile is ahead of this state.
      def loop_quiet(poll_loop)
        @lifecycle.enter(:quiet) if @unquiet.delete(poll_loop) && @unquiet.empty?
      end

      def stop
        @stops += 1
        return @exit_now.call(ExitCodes::FORCED) if @stops > 2
        stop_within((@stops > 1) ? SECOND_SIGNAL_MS : @host.settings.shutdown_timeout)
      end

      def stop_within(ms)
        @lifecycle.enter(:quieting)
        @lifecycle.enter(:stopping)
        @host.stopping!
        @deadline = @deadline ? @deadline.within(ms) : Deadline.in(ms, clock: @host.clock)
        @loops.each { |poll_loop| poll_loop.stop(@deadline) }
        watch
      end

      # Regardless of earlier stop signals.
      def orphaned
        @orphaned = true
        stop_within(ORPHANED_MS)
      end

      # The signal queue has no timeout on all Rubies: a thread posts a message when the time has passed.
      def watch
        deadline = @deadline
        @host.threads.start("penstock deadline") do
          @threads.each { |thread| thread.join((deadline.remaining_ms || 0) / 1000.0) }
          @signals.post(:deadline)
        end
      end

      # A loop that ends without being asked to has a defect: stop and restart the process instead of running half of
      # it.
      def loop_ended(poll_loop)
        if @leaving.delete(poll_loop) && @deadline.nil?
          @loops.delete(poll_loop)
          return loop_quiet(poll_loop)
        end
        @ended << poll_loop
        stop if @deadline.nil? && @ended.size < @loops.size
      end

      # An error that concerns the whole process: one stop, even if several units report it.
      def stop_because(error)
        return if @deadline
        return end_by_force(error) if error.is_a?(TimeLimitExceeded)
        @misconfigured = error.is_a?(FencedError) || error.is_a?(ConfigurationError)
        @host.reporter.emit("error.occurred", {type: "app.critical.error", error: error})
        stop
      end

      # A unit didn't end. Work that the process has not committed runs again elsewhere, as after a crash.
      def end_by_force(error)
        @host.dump_flight("forced stop", @loops)
        @host.monitor.instrument("error.occurred", {type: "app.stopping.error", error: error})
        [$stdout, $stderr].each(&:flush) # exit! doesn't flush them
        @exit_now.call(ExitCodes::FORCED)
      end

      def dump
        ThreadDump.lines.each { |line| @host.log(4, line) }
        snapshot.each { |state| @host.log(4, state.inspect) }
        @host.dump_flight("TTIN", @loops)
      end

      # Runs on a thread of its own, because the main thread must keep handling signals: a third stop signal must end
      # even this at once.
      def wind_down
        thread = @host.threads.start("penstock end") do
          finish
        ensure
          @signals.post(:ended)
        end
        until (message = @signals.wait) == :ended
          handle_safely(message)
        end
        thread.join
        @code
      end

      def finish
        @multiplexer&.close
        forced = @ended.size < @loops.size || @loops.any?(&:forced)
        report_forced if forced
        @lifecycle.enter(:stopped)
        workers_ended = @host.close_workers(forced ? 0.2 : [left_ms - PRODUCER_MS, left_ms / 2].max / 1000.0)
        @worker_watch&.close
        @host.monitor.too_late_for("statistics.emitted", nil)
        @workers.stopped! if workers_ended
        @close_producer.call([left_ms, 500].max)
        @host.close_reporter([left_ms / 1000.0, 0.5].max)
        @lifecycle.enter(:terminated)
        return @code = ExitCodes::ORPHANED if @orphaned
        @code = (forced || !workers_ended) ? ExitCodes::FORCED : code
      end

      def left_ms = @deadline&.remaining_ms || @host.settings.shutdown_timeout

      def code
        return ExitCodes::CONFIGURATION if @misconfigured
        clean = @loops.all? { |poll_loop| poll_loop.finished? && !poll_loop.cut_short? }
        clean ? ExitCodes::OK : ExitCodes::INTERNAL
      end

      def report_forced
        @host.dump_flight("forced stop", @loops)
        error = InternalError.new("shutdown_timeout was too short: #{[*still_running, *still_stopping].join("; ")}. " \
          "Records without a commit run again. Set shutdown_timeout longer than the longest call, or let calls check `stopping?`")
        @host.monitor.instrument("error.occurred", {type: "app.stopping.error", error: error})
      end

      # @return [String, nil]
      def still_running
        jobs = @host.pool.running.map { |_thread, unit| describe(unit) }
        return "#{jobs.size} jobs still ran: #{jobs.join(", ")}" if jobs.any?
        jobs = @loops.flat_map(&:interrupted_units).map { |unit| describe(unit) }
        return "#{jobs.size} jobs still ran and had to be interrupted: #{jobs.join(", ")}" if jobs.any?
        "jobs still ran that have ended since" if @ended.size == @loops.size
      end

      # @return [Array<String>]
      def still_stopping
        (@loops - @ended).map { |one| "the poll loop of #{one.group.id} still #{STILL[one.snapshot[:stage]]}" }
      end

      def describe(unit)
        lane = unit.lane
        return "#{unit.action} of #{lane.topic_name}/#{lane.partition}" unless unit.consume?
        "#{lane.topic_name}/#{lane.partition} offsets #{unit.messages.first_offset}..#{unit.messages.last_offset}"
      end
    end
  end
end
