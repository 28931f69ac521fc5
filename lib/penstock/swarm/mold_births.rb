# frozen_string_literal: true

require_relative "../native/subreaper"
require_relative "births"
require_relative "mold_handle"
require_relative "mold_life"
require_relative "strangers"

module Penstock
  module Swarm
    # Nodes are forked by a mold, one after another, on the supervisor's request; {MoldLife} says what becomes of the mold itself.
    # Where none can be had, the supervisor forks them, as without one. Used by the supervisor's main thread.
    class MoldBirths < Births
      # The supervisor's ends of the pipes of a node that isn't there yet.
      Request = Struct.new(:index, :reports, :leave) do
        def close = [reports, leave].each(&:close)
      end
      private_constant :Request

      # Children of nodes that died come to the supervisor without a descriptor.
      def self.needs_sigchld? = true

      def initialize(household)
        super
        @life = MoldLife.new(household.policy, now)
        @wanted = []
        @strangers = Strangers.new
      end

      # What is loaded and warmed here is shared with every mold there will be.
      def prepare
        super
        adopt_orphans
      end

      def bear(index)
        return super if @life.given_up?
        registry.awaited(index)
        @wanted << index
        ask
      end

      def ios = @mold ? @mold.ios : []

      def next_due = [(@life.next_due unless registry.at_rest?), @strangers.due_at].compact.min

      def turn
        @mold&.read { |message| heard(message) }
        bury
        decide
        ask
        @strangers.wait_for([@mold&.pid, *@household.handles.each_value.map(&:pid)], now) unless @life.asked?
      end

      def forgive = @life.forgive(now)

      def cease
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
        monitor.instrument("swarm.manager.before_fork", {node: index})
        request(index)
      rescue SystemCallError => error # no more descriptors
        unborn(index, error)
      end

      # One that isn't read ends with its deadline, or the mold's end.
      def request(index)
        reports, writer = IO.pipe
        reader, leave = IO.pipe
        @request = Request.new(index, reports, leave)
        @mold.bear(@life.asked(now), index, [writer, reader])
      rescue SystemCallError
        [reports, leave].each { |io| io&.close }
        raise
      ensure
        [writer, reader].each { |io| io&.close }
      end

      # Nobody gets its leave any more.
      def drop
        @life.cancel
        request = @request or return
        @request = nil
        request.close
        registry.not_forked(request.index, now)
      end

      # --- messages

      def heard(message)
        case message
        when Message::Warm then warm(message)
        when Message::Failed then failed(message.problems)
        when Message::Born then answered(message)
        end
      end

      def warm(message)
        @life.warm(now)
        monitor.instrument("swarm.mold.warm", {pid: @mold.pid, time: message.ms})
      end

      # The first one's is a defect of the boot file.
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

      # From here on it is watched, so it may begin.
      def admit(request, pid)
        born(request.index, NodeHandle.new(request.index, pid, request.reports))
        request.leave.syswrite(".")
      rescue SystemCallError # it has ended already: its descriptor says so
        nil
      ensure
        request.leave.close
      end

      def refused(request, reason)
        request.close
        unborn(request.index, InternalError.new(reason))
      end

      # --- the mold's end

      def bury
        status = @mold&.ended or return
        @mold.read { |message| heard(message) } # its last words
        @life.ended(Native::Child.words(*status), now)
        over(part)
      end

      # @return [Integer] its process id
      def part
        mold, @mold = @mold, nil
        mold.close
        mold.pid
      end

      # The node that was asked for is wanted as before.
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
        MoldHandle.fork(application, supervisor_pid: ::Process.pid, death: @household.death, foreign: foreign,
          signals: @household.signals)
      end

      def kill
        drop
        @mold.kill
      end

      # Should it end after all, it is a stranger.
      def abandon
        @life.abandoned(now)
        over(part)
      end

      # In words, and then as without a mold. What molds died of in their warm-up isn't tried here, where nodes depend on it.
      def give_up(reason)
        @life.give_up(reason)
        monitor.instrument("swarm.mold.given_up", {reason: reason})
        cease
      end
    end
  end
end
