# frozen_string_literal: true

require "tmpdir"

module Penstock
  module TestSupport
    # Compares the payload of every event that Penstock emits with the catalogue, also in the processes that a test starts: it
    # has the declared keys, and no other one. {TestCase} fails the test during which a wrong payload was emitted. Events that
    # tests emit themselves aren't compared.
    #
    # Each wrong payload is one line in a file named by the environment, because it may be found in another process. Programs that
    # a test spawns load this file by {ENVIRONMENT}.
    module CheckedEvents
      VARIABLE = "PENSTOCK_TEST_EVENTS"
      ROOT = File.expand_path("../..", __dir__)
      MONITOR = "instrumentation/monitor.rb"
      private_constant :ROOT, :MONITOR

      # Part of {Instrumentation::Monitor}.
      module Check
        def instrument(name, payload = {}, &block)
          CheckedEvents.compare(@catalogue, name, block ? [*payload.keys, :time] : payload.keys)
          super
        end
      end

      class << self
        # Called in the process of the tests, before it forks or spawns any other.
        def begin
          ENV[VARIABLE] = File.join(Dir.tmpdir, "penstock-test-events-#{::Process.pid}")
          ENVIRONMENT.replace(VARIABLE => ENV.fetch(VARIABLE), "RUBYOPT" => "-r#{__FILE__}")
        end

        # @return [Array<String>] one line for each wrong payload since the last call
        def take
          path = ENV.fetch(VARIABLE, nil)
          return [] unless path && File.exist?(path)

          File.readlines(path, chomp: true).tap { File.delete(path) }
        end

        # Writes a line if an event has other keys than its catalogue declares. An unknown event is the monitor's to refuse.
        # @param keys [Array<Symbol>] of the payload
        def compare(catalogue, name, keys)
          return unless catalogue.include?(name)

          found = catalogue.fetch(name).difference(keys) or return
          place = caller_locations.find { |line| line.path != __FILE__ && !line.path.end_with?(MONITOR) }
          path = File.expand_path(place.path).delete_prefix("#{ROOT}/")
          File.write(ENV.fetch(VARIABLE), "#{name}: #{found} (#{path}:#{place.lineno})\n", mode: "a") if path.start_with?("lib/")
        end

        # The monitor is loaded when it is first used, which stays as it is: it is extended when its class has been read.
        def install
          TracePoint.new(:end) do |trace|
            next unless Module.instance_method(:name).bind_call(trace.self) == "Penstock::Instrumentation::Monitor"

            trace.self.prepend(Check)
            trace.disable
          end.enable
        end
      end

      # For `spawn`: the program checks its events, too. Empty where nothing is checked.
      ENVIRONMENT = {}
    end
  end
end

Penstock::TestSupport::CheckedEvents.install if ENV.key?(Penstock::TestSupport::CheckedEvents::VARIABLE)
