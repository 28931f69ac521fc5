# frozen_string_literal: true

require_relative "wait"

module Penstock
  module TestSupport
    # Finds resources that a test doesn't release: Ruby threads, file descriptors, child processes, threads of native
    # handles. A snapshot is taken before the test and compared after it; what is new must disappear within a grace
    # period.
    class Leaks
      # A thread of their own closes the handles that the garbage collector finds, which may take seconds.
      GRACE_SECONDS = 4

      def self.snapshot
        new
      end

      def initialize
        @threads = threads
        @fds = fds
        @children = children
        @native = native_threads
      end

      # @return [Array<String>] one line per leak; empty when all is as before
      def found(grace_seconds = GRACE_SECONDS)
        Wait.wait_until(grace_seconds, every: 0.01) { clean? }
        []
      rescue Wait::TimeoutError
        describe
      end

      private

      def clean?
        describe.empty?
      end

      def describe
        (threads - @threads).map { |thread| "thread #{thread.inspect}" } +
          (fds.to_a - @fds.to_a).map { |fd, target| "file descriptor #{fd} -> #{target}" } +
          (children - @children).map { |pid| "child process #{pid}: #{command(pid)}" } +
          native_leaks
      end

      # Timeout keeps one thread forever; it is Ruby's, not ours.
      def threads
        Thread.list.reject { |thread| thread.name.to_s.start_with?("Timeout") }
      end

      def fds
        return {} unless File.directory?("/proc/self/fd")

        Dir.children("/proc/self/fd").to_h { |fd| [fd, target(fd)] }.compact
      end

      # nil for the descriptor that read the directory itself, which is closed by now.
      def target(fd)
        File.readlink("/proc/self/fd/#{fd}")
      rescue Errno::ENOENT
        nil
      end

      def children
        Dir.glob("/proc/self/task/*/children").flat_map { |path| read(path).split.map(&:to_i) }
      end

      def command(pid)
        text = read("/proc/#{pid}/cmdline").tr("\0", " ").strip
        text.empty? ? "not waited for" : text
      end

      def read(path)
        File.read(path)
      rescue Errno::ENOENT, Errno::ESRCH
        ""
      end

      def native_threads
        return 0 unless defined?(Penstock::Native) && Penstock::Native.respond_to?(:thread_count)

        Penstock::Native.thread_count
      end

      def native_leaks
        extra = native_threads - @native
        extra.positive? ? ["#{extra} librdkafka threads: a native handle was not closed"] : []
      end
    end
  end
end
