# frozen_string_literal: true

# The demo. `bin/demo --help` explains it.
require_relative "conductor"
require_relative "options"

options = Demo::Options.parse(ARGV)
out = options.json ? $stderr : $stdout
Signal.trap("TERM") { ::Process.kill(:INT, ::Process.pid) }

begin
  exit Demo::Conductor.new(options, out).run
rescue Demo::Conductor::Failed => error
  warn "bin/demo: #{error.message}"
  exit 1
rescue Interrupt
  warn "\nbin/demo: stopped by Ctrl-C"
  exit 130
end
