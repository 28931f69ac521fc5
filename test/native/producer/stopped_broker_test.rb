# frozen_string_literal: true

require "test_helper"
require "support/api_producing"
require "support/ruby_program"

# The queue is full and the broker has stopped: producing threads wait, and a close, a fork and a signal end the waits in time,
# with each delivery resolved once.
class ProducerStoppedBrokerTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  QUEUE = {"queue.buffering.max.messages": 20, "linger.ms": 0, "message.timeout.ms": 120_000}.freeze

  def stopped_api
    sender = connected_api(kafka: QUEUE) { |config| config.wait_timeout_on_queue_full = 60_000 }
    sender.produce_sync(thing)
    cluster.broker_down(1)
    sender
  end

  # Threads that produce until an error.
  def producing(sender, handles, count = 4)
    Array.new(count) do |index|
      Thread.new do
        loop do
          message = thing(label: Object.new)
          handles << (index.even? ? sender.produce_async(message) : sender.produce_many_async([message]).first)
        end
      rescue Penstock::ProduceError, Penstock::ProducerClosedError => error
        error.class
      end
    end
  end

  def until_full(sender, threads)
    full = events_of(sender, "producer.queue_full")
    wait_until(30, "threads that wait for room", state: -> { threads.map(&:status) }) do
      full.size >= threads.size && sender.queue_size == 20
    end
  end

  test "a close ends waits for room, and resolves each delivery once" do
    sender = stopped_api
    told = events_of(sender, "message.acknowledged", "error.occurred")
    undelivered = events_of(sender, "producer.undelivered")
    handles = Queue.new
    threads = producing(sender, handles)
    until_full(sender, threads)

    assert_operator seconds { sender.close(timeout_ms: 1_000) }, :<, 30
    assert(threads.all? { |thread| thread.join(30) })
    all = all_of(handles)
    assert_equal 20, all.size
    assert(all.all?(&:done?))
    events = Hash.new { |known, label| known[label] = [] }
    wait_until(30, "an event for each delivery", state: -> { events.size }) do # the reporter may be a little later
      all_of(told).each { |event| events[event[:label]] << event if event[:label] }
      events.keys.size >= 20
    end
    assert_equal [1], all.map { |one| events.fetch(one.label).size }.uniq
    assert_equal 20, undelivered.pop[:count]
  end

  test "a child forked meanwhile drops the client at once; its parent continues when the broker is back" do
    sender = stopped_api
    handles = Queue.new
    threads = producing(sender, handles, 2)
    until_full(sender, threads)
    pid = fork do
      sender.close(timeout_ms: 10_000)
      exit!(sender.closed? ? 0 : 1)
    end

    child = nil
    wait_until(30, "the child's end") { child = Process.wait2(pid, Process::WNOHANG) }
    assert_predicate child.last, :success?
    cluster.broker_up(1)
    wait_until(60, "room for more") { handles.size > 100 }
    sender.close(timeout_ms: 60_000)
    threads.each { |thread| assert thread.join(30) }
    assert_equal [0], all_of(handles).map(&:number).uniq
  end

  PROGRAM = <<~RUBY
    require "penstock/producer"
    producer = Penstock::Producer.new do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 20}
      config.wait_timeout_on_queue_full = 60_000
      config.logger = Logger.new(File::NULL)
    end
    handles = []
    %w[TERM USR1].each { |name| trap(name) { producer.close(timeout_ms: 500) } }
    ready = false
    producer.monitor.subscribe("producer.queue_full") { ready ||= Process.kill(:TERM, Process.pid) }
    begin
      loop { handles << producer.produce_async(topic: "things", payload: "x") }
    rescue Penstock::ProduceError, Penstock::ProducerClosedError => error
      print error.class.name, " ", handles.size, " ", handles.map { |one| one.wait(raise_response_error: false).outcome }.uniq
    end
  RUBY

  test "a signal handler that closes ends a call that waits for room" do
    output, result = Penstock::TestSupport::RubyProgram.run(PROGRAM, timeout: 60)

    assert_predicate result, :success?, output
    assert_match(/\APenstock::Produce\w+Error 20 \[:failed\]\z/, output)
  end
end
