# frozen_string_literal: true

# An application with a pool of one process, whose consumer comes from the environment. It prints the mold's process id,
# the consumer prints its own, and it waits to be killed.
require "minitest"
require "penstock/execution/processes/child_context"
require "penstock/execution/processes/pool"
require "support/executing"

class Program
  include Penstock::TestSupport::Executing

  def start
    $stdout.sync = true
    @monitor = Penstock::Instrumentation::Monitor.new
    @link = Link.new
    @mailbox = Mailbox.new
    @threads = Penstock::Runtime::Threads.new(->(_name, error) { warn(error.full_message) })
    @queue = Penstock::Execution::RunQueue.new
    executing(Class.new(Penstock::BaseConsumer) do
      def log(text) = $stdout.puts(text)
      class_eval(ENV.fetch("CONSUME"))
    end)
    puts @executor.instance_variable_get(:@mold).pid
    place = lane
    push(place, unit(place, [0]))
    $stdin.read # until the test has ended, if it doesn't kill us
  end

  def executor(middleware, size)
    child_context = Penstock::Execution::Processes::ChildContext.new(topics: [@topic], middleware: middleware, monitor: @monitor,
      clock: Penstock::Clock::SYSTEM, critical: [], producer: -> {}, close_producer: ->(_ms) {}, threads: @threads,
      adopt: ->(_) {})
    Penstock::Execution::Processes::Pool.new(child_context: child_context, queue: @queue, size: size,
      local: runner(middleware), lost: ->(_error) {})
  end
end

Program.new.start
