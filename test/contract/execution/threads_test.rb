# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/worker_pool"
require_relative "execution_contract"

module Penstock
  class ExecutionOnThreadsTest < TestCase
    include TestSupport::Executing

    ExecutionContract.add_to(self)

    def executor(onion, size)
      Runtime::WorkerPool.new(queue: @queue, runner: runner(onion), threads: @threads, concurrency: size, priority: 0)
    end
  end
end
