# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"
require "tmpdir"
require_relative "wait"

module Penstock
  module TestSupport
    # Runs the application of kafka_security_worker.rb in a process of its own and reads its log and the payloads that
    # arrived. Ended by pid.
    class KafkaSecurityProcess
      include Wait

      PROGRAM = File.join(__dir__, "kafka_security_worker.rb")
      LIBRARY = File.expand_path("../../lib", __dir__)

      # @param kafka [Hash] librdkafka's settings
      # @param plan [Hash] `from`, `to`, `pattern`, `tokens`
      def initialize(kafka, **plan)
        @dir = Dir.mktmpdir("penstock-application")
        @log, @arrived = File.join(@dir, "log"), File.join(@dir, "arrived")
        plan = {kafka: kafka, group: File.basename(@dir), log: @log, arrived: @arrived, **plan}
        @pid = ::Process.spawn({"PENSTOCK_PLAN" => JSON.generate(plan)}, RbConfig.ruby, *load_path, PROGRAM,
          %i[out err] => [@log, "a"])
      end

      # @return [String] everything it has written
      def log = File.exist?(@log) ? File.read(@log) : ""

      # @return [Array<String>] the log that an operator sees by default: no debug lines
      def lines = log.lines.grep_v(/ DEBUG -- /)

      # @return [Array<String>] warnings and worse, without those that only a busy machine causes: a long turn, and
      #   messages that are repeated every half minute
      SAID_LATER = /a turn of the poll loop took|no partition yet after|times since the last line/
      private_constant :SAID_LATER

      def complaints = log.lines.grep(/ (WARN|ERROR|FATAL) -- /).grep_v(SAID_LATER)

      # Waits for a line an operator sees.
      # @return [String]
      def line(pattern, timeout = 30)
        waiting("a line like #{pattern.inspect}", timeout) { lines.grep(pattern).first }
      end

      # Waits until a payload arrived.
      def wait_for(payload, timeout = 40)
        waiting("the record #{payload}", timeout) do
          File.exist?(@arrived) && File.readlines(@arrived, chomp: true).include?(payload)
        end
      end

      # @return [Boolean]
      def running? = @status.nil? && ::Process.wait2(@pid, ::Process::WNOHANG).then { |pair| @status = pair&.last }.nil?

      # @return [::Process::Status] after a TERM
      def stop(timeout = 20)
        ::Process.kill(:TERM, @pid) if running?
        wait_until(timeout, "end of the application", state: -> { lines.last(10) }, every: 0.05) { !running? }
        @status
      end

      # Ends the process if it still runs, and removes its files.
      def close
        if running?
          ::Process.kill(:KILL, @pid)
          ::Process.wait(@pid)
        end
        FileUtils.remove_entry(@dir)
      end

      private

      def waiting(what, timeout)
        wait_until(timeout, what, state: -> { lines.last(5) }, every: 0.05) do
          yield || (running? ? nil : raise("the application ended: #{lines.last(5).join[0, 1_000]}"))
        end
      end

      def load_path = [*$LOAD_PATH.grep(/penstock-native/), LIBRARY].map { |path| "-I#{path}" }
    end
  end
end
