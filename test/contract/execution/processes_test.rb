# frozen_string_literal: true

require "test_helper"
require "penstock/execution/processes/pool"
require "penstock/execution/processes/kit"
require_relative "execution_contract"

module Penstock
  class ExecutionInProcessesTest < TestCase
    include TestSupport::Executing

    ExecutionContract.add_to(self)

    def executor(onion, size)
      @lost = Thread::Queue.new
      kit = Execution::Processes::Kit.new(topics: [@topic], onion: onion, monitor: @monitor, clock: Clock::SYSTEM,
        critical: [SystemExit], producer: -> { :own_producer }, close_producer: ->(_ms) {}, threads: @threads, adopt: ->(_) {})
      Execution::Processes::Pool.new(kit: kit, queue: @queue, size: size, local: runner(onion),
        lost: ->(error) { @lost << error })
    end

    test "user code runs in another process" do
      executing do
        def consume = log(::Process.pid)
      end
      run_unit([0])

      refute_equal ::Process.pid, Integer(told)
    end
  end
end
