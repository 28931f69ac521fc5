# frozen_string_literal: true

require "json"

module Penstock
  module TestSupport
    # Extends the module of a program that a test runs in another process: its plan comes in its environment as JSON,
    # and it records what it did as lines of a file, its JOURNAL. Each line is one write, so that none is lost when the
    # process is killed.
    module Planned
      # @param variable [String]
      # @return [Hash]
      def plan(variable) = JSON.parse(ENV.fetch(variable), symbolize_names: true)

      # @param path [String]
      # @return [File]
      def journal(path) = File.open(path, File::WRONLY | File::CREAT | File::APPEND)

      def write(*words) = self::JOURNAL.syswrite("#{words.join(" ")}\n")

      # Ends the program when the test has ended, which holds the other end of its standard input.
      def end_with_test
        $stdout.sync = true
        Thread.new { $stdin.read && ::Process.kill(:KILL, ::Process.pid) }
      end
    end
  end
end
