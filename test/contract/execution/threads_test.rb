# frozen_string_literal: true

require "test_helper"
require "penstock/execution/threads/pool"
require_relative "execution_contract"
require_relative "executor_contract"
require_relative "records_contract"
require_relative "wrapper_contract"

module Penstock
  class ExecutionOnThreadsTest < TestCase
    include TestSupport::Executing

    ExecutionContract.add_to(self)
    ExecutorContract.add_to(self)
    RecordsContract.add_to(self)
    WrapperContract.add_to(self)

    def executor(middleware, size)
      Execution::Threads::Pool.new(queue: @queue, runner: runner(middleware), threads: @threads, concurrency: size, priority: 0)
    end
  end
end
