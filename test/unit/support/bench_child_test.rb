# frozen_string_literal: true

require "test_helper"
require "tempfile"
require_relative "../../../benchmark/harness/child"

module Penstock
  # How bin/bench ends the processes that it measures.
  class BenchChildTest < TestCase
    READY = "IO.for_fd(ENV['BENCH_FD'].to_i).syswrite(%({\"event\":\"ready\"}\\n)); reader, writer = IO.pipe; reader.read"

    test "a process is killed at once" do
      assert_equal "KILL", ending("trap(:TERM) { exit!(7) }") { |child| child.stop }
    end

    test "with a grace it is asked first, and ends as it likes" do
      assert_equal 7, ending("trap(:TERM) { exit!(7) }") { |child| child.stop(grace: 30) }
    end

    test "a process that ignores TERM is killed after the grace" do
      assert_equal "KILL", ending("trap(:TERM, 'IGNORE')") { |child| child.stop(grace: 0.05) }
    end

    test "a process that has ended isn't signalled" do
      ended = ending("exit!(3)", awaited: false) do |child|
        wait_until { child.ended? }
        child.stop(grace: 30)
      end

      assert_equal 3, ended
    end

    private

    # @return [Integer, String] the exit code, or the signal by which it ended
    def ending(code, awaited: true)
      Tempfile.create("bench-child") do |log|
        command = [RbConfig.ruby, "--disable-gems", "-e", "#{code}; #{READY}"]
        child = Bench::Child.new(command, env: {}, chdir: Dir.pwd, log: log.path)
        child.await("ready", within: 30) if awaited
        yield child
        child.status.exitstatus || Signal.signame(child.status.termsig)
      ensure
        child&.stop
      end
    end
  end
end
