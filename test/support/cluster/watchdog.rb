# frozen_string_literal: true

require_relative "known_process"

# watchdog.rb PID STARTED NAME=VALUE: when the process with this number and start time has ended, kills all processes
# that have NAME=VALUE in their environment. Nothing that a test run started outlives it, however the run ends.
if $PROGRAM_NAME == __FILE__
  owner = Penstock::TestSupport::KnownProcess.new(Integer(ARGV[0]), ARGV[1])
  %w[INT TERM HUP].each { |name| trap(name, (name == "TERM") ? "DEFAULT" : "IGNORE") }
  sleep(0.5) while owner.alive?
  3.times do
    Penstock::TestSupport::KnownProcess.marked(ARGV[2]).each { |process| process.signal(:KILL) }
    sleep(0.2)
  end
end
