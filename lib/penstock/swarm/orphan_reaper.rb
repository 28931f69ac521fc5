# frozen_string_literal: true

require_relative "../native/subreaper"

module Penstock
  module Swarm
    # Reaps children that the supervisor didn't fork: processes that a node's consumers had started and that became the
    # supervisor's when the node died. It waits a second before it reaps one, because a process that a listener of the
    # supervisor started must be reaped by that listener. Used on the supervisor's main thread.
    class OrphanReaper
      GRACE_MS = 1_000
      private_constant :GRACE_MS

      # @return [Integer, nil] monotonic ms of the next check
      attr_reader :due_at

      def initialize
        @since = {}
      end

      # @param known [Array<Integer>] process ids that are reaped elsewhere
      # @param now [Integer] ms
      def reap(known, now)
        @due_at = nil
        return @since.clear unless some_ended
        ended = ended_children - known
        @since.keep_if { |pid, _since| ended.include?(pid) }
        ended.each { |pid| @since[pid] ||= now }
        @since.delete_if { |pid, since| now - since >= GRACE_MS && waited_for(pid) }
        @due_at = @since.each_value.min&.+(GRACE_MS)
      end

      private

      def some_ended = Native::Subreaper.ended

      # All of them, where the kernel provides the list; otherwise one.
      def ended_children
        pids = Dir.glob("/proc/self/task/*/children").flat_map { |path| File.read(path).split.map(&:to_i) }
        pids.empty? ? [some_ended].compact : pids.select { |pid| ended?(pid) }
      rescue SystemCallError
        [some_ended].compact
      end

      def ended?(pid)
        File.read("/proc/#{pid}/stat").rpartition(")").last.start_with?(" Z")
      rescue SystemCallError
        false
      end

      def waited_for(pid)
        ::Process.wait(pid, ::Process::WNOHANG) || true
      rescue Errno::ECHILD
        true
      end
    end
  end
end
