# frozen_string_literal: true

require_relative "../native/subreaper"
require_relative "node_spawner"
require_relative "mold_handle"
require_relative "mold_life"
require_relative "orphan_reaper"

module Penstock
  module Swarm
    # Spawns the nodes of a swarm through a mold: it forks nodes one after another, on request. {MoldLife} decides what happens
    # to the mold itself. Without a working mold the supervisor forks the nodes. Used on the supervisor's main thread.
    class MoldNodeSpawner < NodeSpawner
      # The supervisor's ends of the pipes of a node that was requested and isn't forked yet.
      Request = Struct.new(:index, :reports, :go_ahead) do
        def close = [reports, go_ahead].each(&:close)
      end
      private_constant :Request

      # Children of nodes that died become the supervisor's children, without a descriptor that shows their end.
      def self.needs_sigchld? = true

      def initialize(context)
        super
        @life = MoldLife.new(context.policy, now)
        @wanted = []
        @orphan_reaper = OrphanReaper.new
      end

      # Every mold shares what is loaded and warmed up here.
      def prepare
        super
        adopt_orphans
      end

      def spawn(index)
        return super if @life.given_up?
        registry.awaited(index)
        @wanted << index
        ask
      end

      def ios = @mold ? @mold.ios : []

      def next_due = [(@life.next_due unless registry.at_rest?), @orphan_reaper.due_at].compact.min

      def tick
        @mold&.read { |message| received(message) }
        reap_mold
        decide
        ask
        @orphan_reaper.reap([@mold&.pid, *@context.handles.each_value.map(&:pid)], now) unless @life.asked?
      end

      def extend_deadlines = @life.extend_deadlines(now)

      def stop_spawning
        drop
        @wanted.each { |index| registry.not_forked(index, now) }
        @wanted = []
      end

      def close
        drop
        @mold&.end!
        @mold = nil
      end

      def to_h = {state: @life.state, pid: @mold&.pid, reason: @life.reason}

      private

      def adopt_orphans
        Native::Subreaper.become
      rescue SystemCallError => error
        give_up("#{error.message}; it takes Linux")
      end

      # --- requests

      def ask
        return unless @life.idle? && (index = @wanted.shift)
        monitor.instrument("swarm.manager.before_fork", {node: NodeIdentity.new(index)})
        request(index)
      rescue SystemCallError => error # no more descriptors
        spawn_failed(index, error)
      end

      # A request that the mold doesn't read ends with its deadline, or with the mold.
      def request(index)
        reports, writer = IO.pipe
        reader, go_ahead = IO.pipe
        @request = Request.new(index, reports, go_ahead)
        @mold.spawn(@life.asked(now), index, [writer, reader])
      rescue SystemCallError
        [reports, go_ahead].each { |io| io&.close }
        raise
      ensure
        [writer, reader].each { |io| io&.close }
      end

      # A node that was forked for this request gets no go-ahead and ends.
      def drop
        @life.cancel
        request = @request or return
        @request = nil
        request.close
        registry.not_forked(request.index, now)
      end

      # --- messages

      def received(message)
        case message
        when Message::Warm then warm(message)
        when Message::Failed then failed(message.problems)
        when Message::Spawned then answered(message)
        end
      end

      def warm(message)
        @life.warm(now)
        monitor.instrument("swarm.mold.warm", {pid: @mold.pid, time: message.ms})
      end

      # If the very first mold fails, the boot file has a defect.
      def failed(rows)
        problems = rows.map { |row| Problem.new(*row) }
        raise ConfigurationError.new(problems) unless @life.ever_warm?
        @life.failed(problems.join("; "))
      end

      def answered(message)
        return unless @life.answered(message.number, !message.pid.nil?)
        request, @request = @request, nil
        message.pid ? admit(request, message.pid) : refused(request, message.reason)
      end

      # From here on the node is supervised, so it may begin.
      def admit(request, pid)
        spawned(request.index, NodeHandle.new(request.index, pid, request.reports))
        request.go_ahead.syswrite(".")
      rescue SystemCallError # it has ended already, as its descriptor shows
        nil
      ensure
        request.go_ahead.close
      end

      def refused(request, reason)
        request.close
        spawn_failed(request.index, InternalError.new(reason))
      end

      # --- the mold's end

      def reap_mold
        status = @mold&.ended or return
        @mold.read { |message| received(message) } # its last messages
        @life.ended(Native::Child.words(*status), now)
        over(part)
      end

      # @return [Integer] its process id
      def part
        mold, @mold = @mold, nil
        mold.close
        mold.pid
      end

      # The requested node is still needed.
      def over(pid)
        drop
        wait = @life.due_at - now unless @life.given_up?
        monitor.instrument("swarm.mold.ended", {pid: pid, reason: @life.reason, timeout: wait && [wait, 0].max})
        give_up(@life.reason) if @life.given_up?
      end

      # --- decisions

      def decide
        return if registry.at_rest?
        case @life.decide(now)
        when :fork then fork_mold
        when :kill then kill
        when :abandon then abandon
        end
      end

      def fork_mold
        @mold = new_mold
        @life.forked(now)
        monitor.instrument("swarm.mold.forked", {pid: @mold.pid})
      rescue SystemCallError => error
        @life.ended("#{error.class}: #{error.message}", now)
        over(nil)
      end

      def new_mold
        MoldHandle.fork(application, supervisor_pid: ::Process.pid, death: @context.death, foreign: foreign,
          signals: @context.signals)
      end

      def kill
        drop
        @mold.kill
      end

      # If it ends after all, the {OrphanReaper} reaps it.
      def abandon
        @life.abandoned(now)
        over(part)
      end

      # Reports the reason; from then on the supervisor forks. It doesn't run the warm-up that molds died of: nodes depend on
      # this process.
      def give_up(reason)
        @life.give_up(reason)
        monitor.instrument("swarm.mold.given_up", {reason: reason})
        stop_spawning
      end
    end
  end
end
