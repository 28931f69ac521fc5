# frozen_string_literal: true

require "socket"
require_relative "../clock"
require_relative "../errors"
require_relative "../execution/processes/orphans"
require_relative "../native/death_pipe"
require_relative "../server/exit_codes"
require_relative "frame"
require_relative "image"
require_relative "node"

module Penstock
  module Swarm
    # Runs inside the process that nodes are forked from: a copy of the supervisor that warms up, opens nothing to Kafka, and
    # then only forks. Runs on the child's main thread.
    #
    # A node is forked by a go-between that ends at once, so that it becomes a child of the supervisor. Ends when the supervisor
    # closes the socket, or is gone.
    class Mold
      # A mold is forked with these values. It closes `foreign`, the supervisor's descriptors.
      Inheritance = Struct.new(:supervisor_pid, :socket, :death, :foreign, :signals, keyword_init: true)

      # Signals sent to a whole process group are for the supervisor.
      SIGNALS = %w[INT TERM QUIT HUP USR1 USR2 TTIN TSTP].freeze
      # Time until it is ended if the supervisor dies while it computes in C in its warm-up.
      ORPHANED_MS = 1_000
      # Limits of problem reports, so that they fit into a frame: problems, bytes of their texts, bytes of the reason why there
      # is no node. One problem fits even though JSON may write each of its characters as six.
      MOST_PROBLEMS = 4
      LONGEST_TEXT = 200
      LONGEST_REASON = 500
      private_constant :SIGNALS, :ORPHANED_MS, :MOST_PROBLEMS, :LONGEST_TEXT, :LONGEST_REASON

      # @param application [#become_mold, #eager_load, #monitor, #server_id]
      # @param inheritance [Inheritance]
      def initialize(application, inheritance)
        @application = application
        @inherited = inheritance
        @socket = inheritance.socket
        @parser = Frame::Parser.new
      end

      # Never returns.
      def run
        settle_in
        return @code = Server::ExitCodes::CONFIGURATION unless warm_up
        nil while turn
        @code = Server::ExitCodes::OK
      rescue Errno::EPIPE, Errno::ECONNRESET # the supervisor is gone
        @code = Server::ExitCodes::ORPHANED
      rescue => error
        @application.monitor.instrument("error.occurred", {type: "swarm.supervisor.error", error: error})
      ensure
        exit!(@code || Server::ExitCodes::INTERNAL)
      end

      private

      # Handlers, not "IGNORE", which programs started by user code would inherit. Signals that the supervisor's handlers
      # recorded earlier are not for a node.
      def settle_in
        @inherited.foreign.each(&:close)
        Native::DeathPipe.watch(@inherited.death, grace_ms: ORPHANED_MS)
        SIGNALS.each { |name| trap(name) {} }
        trap("CHLD", "DEFAULT")
        @inherited.signals.early.clear
        Execution::Processes::Orphans.die_with_parent(@inherited.supervisor_pid)
        ::Process.setproctitle("penstock mold of #{@inherited.supervisor_pid}")
        @application.become_mold
      end

      # @return [Boolean] whether nodes can be forked
      def warm_up
        began = now
        @application.monitor.instrument("swarm.mold.after_fork", {pid: ::Process.pid})
        Image.check!
        send_message(Message::Warm.new((now - began).round))
      rescue ConfigurationError => error
        fail_with(error.problems)
      rescue StandardError, ScriptError => error
        fail_with([Problem.new("swarm", "the mold's warm-up failed with #{error.class}: #{error.message}")])
      end

      def fail_with(problems)
        rows = problems.first(MOST_PROBLEMS).map { |problem| problem.to_a.map { |text| text && Frame.text(text, LONGEST_TEXT) } }
        rows.pop until rows.size < 2 || Frame.fits?(Message::Failed.new(rows))
        send_message(Message::Failed.new(rows))
        false
      end

      # @return [Boolean] whether there may be more requests
      def turn
        bytes, _sender, _flags, *controls = @socket.recvmsg(Frame::MAX_BYTES, scm_rights: true)
        ends = controls.flat_map { |control| control.unix_rights || [] }
        return false if bytes.nil? || bytes.empty?
        @parser.feed(bytes) { |message| spawn_node(message, ends) if message.is_a?(Message::Spawn) && ends.size == 2 }
        true
      ensure
        ends&.each { |io| io.close unless io.closed? }
      end

      def spawn_node(request, ends)
        reader, writer = IO.pipe
        between = ::Process.fork { go_between(request.index, ends, reader, writer) }
        [writer, *ends].each(&:close)
        words = reader.gets.to_s.chomp
        ::Process.wait(between) # from here on the node is the supervisor's child
        pid = Integer(words, exception: false)
        send_message(Message::Spawned.new(request.number, pid, pid ? nil : reason(words)))
      rescue SystemCallError => error # no memory, no more processes
        send_message(Message::Spawned.new(request.number, nil, reason("#{error.class}: #{error.message}")))
      ensure
        [reader, writer].each { |io| io&.close }
      end

      def reason(words) = "#{Frame.text(words, LONGEST_REASON)} (in the mold)"

      def go_between(index, ends, reader, writer)
        pid = ::Process.fork { node(index, ends, [reader, writer, @socket]) }
        writer.syswrite("#{pid}\n")
      rescue SystemCallError => error
        writer.syswrite("#{error.class}: #{error.message}\n")
      ensure
        exit!(0)
      end

      # The same as a node that the supervisor forks, but it begins only with the supervisor's go-ahead.
      def node(index, ends, foreign)
        reports, go_ahead = ends.zip(%w[wb rb]).map { |io, mode| reopened(io, mode) }
        inheritance = Node::Inheritance.new(index: index, supervisor_pid: @inherited.supervisor_pid, pipe: reports,
          death: @inherited.death, foreign: foreign, signals: @inherited.signals, go_ahead: go_ahead)
        exit(Node.new(@application, inheritance).run)
      end

      # Ruby treats descriptors that come with a message as readable and writable.
      def reopened(io, mode)
        io.autoclose = false
        IO.for_fd(io.fileno, mode)
      end

      def send_message(message)
        @socket.sendmsg(Frame.encode(message))
        true
      end

      def now = Clock.milliseconds
    end
  end
end
