# frozen_string_literal: true

require "fileutils"
require "json"
require "tmpdir"
require_relative "ruby_program"
require_relative "wait"

module Penstock
  module TestSupport
    # A consumer whose records may kill the process it runs in, and the supervisor that starts it again each time. The
    # consumer records what begins and ends, one write per line, so that nothing of it is lost with the process. Ends
    # only processes that it started, by pid.
    class Killers
      include Wait

      PROGRAM = File.join(__dir__, "killers", "worker.rb")

      # One line: S (begins), E (ends), D (dead letter acknowledged), K (skipped), Q (quarantined) or W (suspected).
      Line = Struct.new(:kind, :partition, :offset, :more)

      attr_reader :lives

      # @param plan [Hash] see worker.rb
      def initialize(**plan)
        @dir = Dir.mktmpdir("penstock-killers")
        @plan = {**plan, journal: path("journal"), log: path("log")}
        @lives = 0
      end

      # Starts the consumer until the block is true, at most that many times.
      # @yield whether the end is reached; called while a process runs
      def run(most, seconds: 30)
        most.times do
          start
          wait_until(seconds, "the end of life #{@lives} or of the test", state: -> { tail }) { ended? || yield }
          next unless alive?
          return stop
        end
        raise "life #{@lives} has ended before the test's end was reached:\n#{tail}"
      end

      def start
        @lives += 1
        @status = nil
        @pid = ::Process.spawn({"PENSTOCK_KILLERS" => JSON.generate(@plan)}, *RubyProgram.command(PROGRAM),
          %i[out err] => [path("log"), "a"])
      end

      # @return [::Process::Status]
      def stop(signal = "TERM")
        ::Process.kill(signal, @pid)
        wait_until(30, "end by #{signal}", state: -> { tail }) { ended? }
        @status
      end

      def alive? = !ended?

      # @return [Array<Line>] of one kind
      def lines(kind)
        return [] unless File.exist?(path("journal"))
        rows = File.readlines(path("journal")).map(&:split)
        rows.select { |row| row.first == kind }.map { |row| Line.new(kind, *row.drop(1).map(&:to_i)) }
      end

      # @return [Array<Integer>] offsets, in the order in which they were written
      def offsets(kind) = lines(kind).map(&:offset)

      def tail = File.exist?(path("log")) ? File.readlines(path("log")).last(25).join : ""

      def close
        if @pid && alive?
          ::Process.kill("KILL", @pid)
          ::Process.wait(@pid)
        end
        FileUtils.rm_rf(@dir)
      end

      private

      def path(name) = File.join(@dir, name)

      def ended?
        return true if @status
        _pid, @status = ::Process.wait2(@pid, ::Process::WNOHANG)
        !@status.nil?
      end
    end
  end
end
