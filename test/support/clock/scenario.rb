# frozen_string_literal: true

require "penstock/producer"
require_relative "../embedded_broker"
require_relative "../served"
require_relative "jumping"

module Penstock
  module TestSupport
    module Jumping
      # Servers whose wall clocks jump, their journals, and the monotonic times in them. Included into tests.
      module Scenario
        include CommandLine
        include Served

        def self.included(base) = base.extend(EmbeddedBroker::OnePerClass)

        # Records the monotonic time of each consumption; a record with the payload "fails" fails twice.
        WORK = <<~'RUBY'
          Work.prepend(Module.new do
            def act(payload)
              say "at #{payload} #{Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)} #{attempt}"
              raise "not yet" if payload == "fails" && attempt < 3
              super
            end
          end)
          PenstockApp.setup { |config| config.pause.timeout = config.pause.max_timeout = 1_500 }
        RUBY

        def clock(name) = (@clocks ||= {})[name] ||= Clock.new(@dir)

        # @return [Served::Process] with a clock of its own
        def jumping(name, more: "", env: {})
          serve("server", env: {**clock(name).env, "JOURNAL" => File.join(@dir, "journal-#{name}"), "MORE" => WORK + more, **env})
        end

        # @return [Array<Integer>] ms (monotonic) at which a record was processed
        def times(server, payload) = server.journal.scan(/^at #{payload} (\d+)/).flatten.map(&:to_i)

        def await_times(server, payload, count)
          server.await("#{payload} at work, #{count}") { times(server, payload).size >= count }
        end

        def stop(server)
          server.signal(:TERM)
          assert_equal 0, server.code, server.tail
        end
      end
    end
  end
end
