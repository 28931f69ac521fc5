# frozen_string_literal: true

require "test_helper"
require "support/api_producing"
require "support/small_scheduler"
require "support/ruby_program"

# Penstock::Producer with a real client in trouble: no broker, a full queue, signals, concurrent threads.
class ProducerApiTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  test "[Purge] the queue is empty afterwards, and the handles have an error" do
    sender = api
    seen = Queue.new
    sender.monitor.subscribe("message.purged") { |event| seen << event[:error].code }
    handles = Array.new(5) { sender.produce_async(thing) }
    sender.buffer(thing)
    sender.purge

    assert_equal 0, sender.queue_size
    assert_empty sender.messages
    handles.each { |handle| assert_equal :purge_queue, assert_raises(Penstock::KafkaError) { handle.wait }.code }
    wait_until(5, "five events") { seen.size == 5 }
  end

  test "[Bad header] a name with a NUL byte, which consumers would read only up to it, is refused before anything is sent" do
    sender = api
    sent = [{**thing, headers: {"a" => "1"}}, {**thing, headers: {"a\0b" => "1"}}]

    assert_match(/NUL/, assert_raises(Penstock::MessageInvalidError) { sender.produce_async(sent.last) }.message)
    assert_equal 1, assert_raises(Penstock::MessageInvalidError) { sender.produce_many_async(sent) }.index
    assert_equal 0, sender.queue_size
  end

  test "[Close, Kafka down] close respects its time limit, and afterwards every handle is resolved" do
    sender = api
    handles = Array.new(100) { sender.produce_async(thing) }

    assert_operator seconds { sender.close(timeout_ms: 300) }, :<, limit(5)
    assert_equal [:failed], handles.map { |handle| handle.wait(timeout_ms: 0, raise_response_error: false).outcome }.uniq
    assert_equal 0, sender.queue_size
  end

  test "[Close, Kafka down] close! discards late messages" do
    sender = api
    handle = sender.produce_async(thing)

    assert_operator seconds { sender.close!(timeout_ms: 100) }, :<, limit(5)
    assert_equal :purge_queue, assert_raises(Penstock::KafkaError) { handle.wait }.code
  end

  test "[Close in trap] a producer may be closed in a signal handler" do
    sender = connected_api
    sender.produce_sync(thing)
    earlier = trap("USR2") { sender.close(timeout_ms: 5_000) }
    ::Process.kill(:USR2, ::Process.pid)

    wait_until(10, "closed producer") { sender.closed? }
    assert_predicate sender, :closed?
  ensure
    trap("USR2", earlier || "DEFAULT")
  end

  PROGRAM = <<~RUBY
    require "penstock/producer"
    producer = Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": ADDRESS, "linger.ms": 300} }
    handles = Array.new(20) { producer.produce_async(topic: "things", payload: "x") }
    at_exit do
      producer.close(timeout_ms: 10_000)
      print handles.map { |handle| handle.wait.outcome }.tally
    end
  RUBY

  test "a producer may be closed in at_exit" do
    output, result = Penstock::TestSupport::RubyProgram.run(PROGRAM.sub("ADDRESS", cluster.bootstrap_servers.inspect))

    assert_predicate result, :success?, output
    assert_equal "{:delivered=>20}", output.delete(" ").sub("{delivered:", "{:delivered=>")
  end

  # OpenSSL frees its memory when a process exits, while librdkafka's threads still request random numbers.
  ["", "require \"openssl\"; OpenSSL::Random.random_bytes(1)\n"].each do |first|
    test "a producer that is never closed doesn't keep its process from exiting#{" with OpenSSL loaded first" unless first.empty?}" do
      program = first + PROGRAM.sub("ADDRESS", NOBODY.inspect).sub(/^at_exit.*/m, "print :end")
      5.times do
        output, result = Penstock::TestSupport::RubyProgram.run(program)

        assert_predicate result, :success?, output
        assert_includes output, "end"
        assert_match(/^penstock: the producer \S+ wasn't closed before the process ended: 20 messages .* may be lost/, output)
      end
    end
  end

  test "[Close vs produce stress] closing while threads produce neither hangs nor loses a result" do
    Integer(ENV.fetch("PENSTOCK_CLOSE_ROUNDS", "30")).times do
      sender = connected_api
      handles = Queue.new
      threads = Array.new(4) do |index|
        Thread.new do
          loop { handles << (index.even? ? sender.produce_async(thing) : sender.produce_many_async([thing]).first) }
        rescue Penstock::ProducerClosedError, Penstock::ProduceError
          nil
        end
      end
      wait_until(10, "messages") { handles.size > 50 }
      sender.close(timeout_ms: 10_000)
      threads.each(&:join)
      assert_empty Array.new(handles.size) { handles.pop }.reject(&:done?)
    end
  end

  # The broker answers late; otherwise it might keep up with a slow test.
  test "a full queue delays producing until there is room, and nothing is lost" do
    sender = connected_api(kafka: {"queue.buffering.max.messages": 50, "linger.ms": 1})
    sender.produce_sync(thing)
    cluster.set_rtt(1, 100)
    waits = 0
    sender.monitor.subscribe("producer.queue_full") { waits += 1 }
    handles = Array.new(400) { sender.produce_async(thing) }

    assert_equal [0], handles.map { |handle| handle.tap(&:wait).number }.uniq
    assert_equal 200, sender.produce_many_sync(Array.new(200) { thing }).size
    assert_operator waits, :>, 0
  end

  test "a queue that stays full raises after its timeout, with the accepted messages" do
    sender = api(kafka: {"queue.buffering.max.messages": 5}) { |config| config.wait_timeout_on_queue_full = 100 }
    error = assert_raises(Penstock::ProduceManyError) { sender.produce_many_async(Array.new(8) { thing }) }

    assert_equal 5, error.dispatched.size
    assert_equal :queue_full, error.code
    assert_equal :queue_full, assert_raises(Penstock::ProduceError) { sender.produce_async(thing) }.code
    assert_equal 5, sender.queue_size
  end

  test "messages that a failed flush couldn't dispatch are back in the buffer" do
    sender = api(kafka: {"queue.buffering.max.messages": 5}) { |config| config.wait_on_queue_full = false }
    sender.buffer_many(Array.new(8) { |index| thing(index.to_s) })
    assert_raises(Penstock::ProduceManyError) { sender.flush_async }

    assert_equal %w[5 6 7], sender.messages.map { |message| message[:payload] }
  end

  test "a thread that produces synchronously can be killed" do
    sender = api
    thread = Thread.new { sender.produce_sync(thing) }
    wait_until(5, "a sleeping thread") { thread.status == "sleep" }

    assert_operator seconds { thread.kill.join }, :<, 5
  end

  test "a wait that times out names the client's last error" do
    sender = api { |config| config.max_wait_timeout = 1_500 }
    error = assert_raises(Penstock::ProduceError) { sender.produce_sync(thing) }

    assert_instance_of Penstock::WaitTimeoutError, error.cause
    assert_match(/unknown.*last error/m, error.message)
  end

  test "errors of the client are emitted to listeners" do
    sender = api
    seen = Queue.new
    sender.monitor.subscribe("error.occurred") { |event| seen << event }
    sender.produce_async(thing)
    event = wait_until(10, "an error") { seen.pop unless seen.empty? }

    assert_equal ["librdkafka.error", sender.id], [event[:type], event[:producer_id]]
    assert_kind_of Penstock::KafkaError, event[:error]
  end

  test "a fatal error is reported with its own code" do
    sender = api { |config| config.reload_on_idempotent_fatal_error = false }
    seen = Queue.new
    sender.monitor.subscribe("error.occurred") { |event| seen << event[:error] }
    sender.produce_async(thing)
    sender.client.inject_fatal_error(47, "a test")
    error = wait_until(10, "a fatal error") { [seen.pop].find(&:fatal?) unless seen.empty? }

    assert_equal 47, error.number
    assert_equal 47, sender.fatal_error.first
    assert_raises(Penstock::ProduceError) { sender.produce_async(thing) }
  end

  # Answers requests for tokens with the block's result.
  class Tokens
    attr_reader :asked

    def initialize(&block)
      @asked = Queue.new
      @block = block
    end

    def on_oauthbearer_token_refresh(event)
      @block.call(event[:bearer])
    ensure
      @asked << event
    end
  end

  OAUTH = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "OAUTHBEARER"}.freeze

  test "[OAuth refresh] the listener is called for a token at once, and again before it expires" do
    tokens = Tokens.new do |bearer|
      bearer.oauthbearer_set_token(token: "aaaa.bbbb.cccc", lifetime_ms: (Time.now.to_f * 1_000).to_i + 2_000,
        principal_name: "me", extensions: {"scope" => "all"})
    end
    sender = api(kafka: OAUTH) { |config| config.oauth.token_provider_listener = tokens }
    sender.produce_async(thing)

    wait_until(20, "a second request") { tokens.asked.size > 1 }
    assert_operator tokens.asked.size, :>, 1
  end

  test "a listener for tokens that raises is reported and called again" do
    tokens = Tokens.new { raise "no token today" }
    errors = Queue.new
    sender = api(kafka: OAUTH) { |config| config.oauth.token_provider_listener = tokens }
    sender.monitor.subscribe("error.occurred") { |event| errors << event[:type] }
    sender.produce_async(thing)

    types = wait_until(10, "the error") do
      (@types ||= []) << errors.pop until errors.empty?
      @types if @types&.include?("callbacks.oauthbearer_token_refresh.error")
    end
    assert_includes types, "callbacks.oauthbearer_token_refresh.error"
  end

  test "[Callback exception] a listener that raises is reported, and still gets the next event" do
    sender = connected_api
    errors = Queue.new
    sender.monitor.subscribe("error.occurred") { |event| errors << event[:type] }
    sender.monitor.subscribe("message.acknowledged") { raise "a listener" }
    seen = Queue.new
    sender.monitor.subscribe("message.acknowledged") { |event| seen << event }
    2.times { sender.produce_sync(thing) }

    wait_until(5, "both events") { seen.size == 2 }
    assert_equal "instrumentation.listener.error", errors.pop
  end

  test "without listeners there is one Ruby thread, which is idle: no delivery wakes it" do
    sender = connected_api
    before = Thread.list
    sender.produce_sync(thing)
    thread = wait_until(20, "its thread") { (Thread.list - before).find { |one| one.name == "penstock.reporter" } }
    wait_until(20, "an idle thread") { thread.stop? }
    client = sender.client
    client.define_singleton_method(:take_reports) { |*| raise "woken" }
    sender.produce_sync(thing)

    assert_equal [thread], Thread.list - before
    assert_predicate thread, :stop?
  end

  test "without listeners librdkafka's lines are logged, and a failed connection as what it is" do
    lines = StringIO.new
    sender = Penstock::Producer.new do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      config.logger = Logger.new(lines, formatter: ->(level, *, text) { "#{level} #{text}\n" })
    end
    sender.produce_async(thing)
    wait_until(20, "a line", state: -> { lines.string }) { lines.string.include?("Connect to") }
    sender.close(timeout_ms: 0)

    assert_match(/^ERROR \[#{sender.id}\] librdkafka FAIL: /, lines.string)
  end

  test "[Fiber yield] other fibers run while one waits for its report" do
    sender = connected_api
    sender.produce_sync(thing)
    cluster.set_rtt(1, 300)
    turns = []
    Thread.new do
      Fiber.set_scheduler(Penstock::TestSupport::SmallScheduler.new)
      Fiber.schedule { sender.produce_sync(thing).then { turns << :first } }
      Fiber.schedule { sender.produce_async(thing).wait.then { turns << :second } }
      turns << :main
    end.join

    assert_equal :main, turns.first
    assert_equal %i[first main second], turns.sort
  end

  test "a slow listener delays producing instead of filling memory" do
    skip "measured by counting, not on the clock" if Penstock::TestSupport::Wait::TIME_FACTOR > 1
    sender = connected_api
    gate = Queue.new
    heard = 0
    sender.monitor.subscribe("message.acknowledged") do
      gate.pop if heard.zero?
      heard += 1
    end
    producer = Thread.new { 110.times { sender.produce_many_async(Array.new(1_000) { thing }, handle: false) } }
    native = sender.client
    wait_until(30, "reports that wait") { native.counts.first >= 100_000 }
    gate << :go
    producer.join
    assert sender.flush(30_000)

    wait_until(30, "every event") { heard == 110_000 }
    assert_equal 110_000, heard
  end
end
