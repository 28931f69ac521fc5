# frozen_string_literal: true

require "io/wait"
require_relative "../../support/wait"

module Penstock
  module DocsTest
    # Reads the output of one example until its process has ended; sends TERM when the example requests it, KILL when it
    # takes too long, and returns what went wrong.
    class Watch
      # Some examples run half a dozen commands; a busy machine gets more time.
      SECONDS = 60

      # @param example [Example]
      def initialize(example)
        @example = example
        @output = +""
        @stop_when = example.directive("stop when")
        @limit = now + (SECONDS * TestSupport::Wait.busy)
      end

      # @yieldparam output [IO] the process writes to it
      # @yieldreturn [Integer] its pid
      # @return [String, nil] what went wrong
      def call
        reader, writer = IO.pipe
        pid = yield writer
        writer.close
        late = follow(reader, pid)
        failure(::Process.wait2(pid).last, late)
      ensure
        reader&.close
      end

      private

      # @return [Boolean] whether it had to be killed
      def follow(reader, pid)
        while reader.wait_readable([@limit - now, 0].max)
          @output << reader.readpartial(65_536)
          stop(pid) if @stop_when && @output.include?(@stop_when)
        end
        kill(pid)
        true
      rescue EOFError
        false
      end

      def stop(pid)
        @stop_when = nil
        @stopped = true
        signal(:TERM, pid)
      end

      # A shell has its own process group, a fork doesn't.
      def signal(name, pid)
        ::Process.kill(name, (@example.language == "sh") ? -pid : pid)
      end

      def kill(pid)
        signal(:KILL, pid)
      rescue Errno::ESRCH
        nil
      end

      def failure(status, late)
        problems = [("it had not ended after #{SECONDS} s" if late), (code(status) unless late), *missing].compact
        "#{@example.place}: #{problems.join("; ")}\n#{@output[-3_000..] || @output}" if problems.any?
      end

      def code(status)
        expected = Integer(@example.directive("exit") || 0)
        "it ended with #{status}, not with exit code #{expected}" unless status.exitstatus == expected
      end

      def missing
        texts = @example.all("prints") + [@example.directive("stop when")].compact
        output = @output.dup.force_encoding(Encoding::UTF_8)
        texts.reject { |text| output.include?(text) }.map { |text| "it doesn't print #{text.inspect}" }
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
    end
  end
end
