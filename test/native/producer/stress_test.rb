# frozen_string_literal: true

require "test_helper"
require "penstock/testing/fatal_errors"
require "support/api_producing"

# Twenty threads use a producer at random. For a few seconds here; PENSTOCK_STRESS_SECONDS=60 for longer, best with the address
# sanitizer (bin/test native --asan).
class ProducerStressTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  SECONDS = Float(ENV.fetch("PENSTOCK_STRESS_SECONDS", "2.5"))
  THREADS = 20
  PRODUCERS = 3
  # How often each call is made.
  DEEDS = {
    produce_async: 30, produce_sync: 15, produce_many_async: 10, produce_many_sync: 6, variant: 6, buffer: 8, flush_async: 4,
    flush_sync: 3, flush: 3, wait: 8, reload: 2, disconnect: 3, purge: 1, partition_count: 3, inspect: 3, close: 1
  }.freeze
  SPECIAL = {max_wait_timeout: 5_000, topic_config: {"compression.codec": "gzip"}}.freeze
  # Acceptable errors.
  EXPECTED = [Penstock::ProduceError, Penstock::ProducerClosedError, Penstock::WaitTimeoutError, Penstock::KafkaError].freeze

  def setup
    cluster.create_topic("special", 1)
    @random = Random.new(Integer(ENV.fetch("PENSTOCK_STRESS_SEED", "1")))
    @lock = Mutex.new
    @handles = Queue.new
    @done = Hash.new(0)
    @senders = Array.new(PRODUCERS) { sender }
  end

  test "with random calls from many threads there is no deadlock, no raw error, and each delivery is resolved" do
    stop = false
    threads = Array.new(THREADS) { |index| Thread.new { deeds(Random.new(@random.seed + index)) { stop } } }
    observe_for(SECONDS)
    stop = true
    raw = threads.map { |thread| thread.join(60) ? thread.value : "a thread hangs: #{thread.backtrace.first(12).join(" < ")}" }
    @senders.each { |each| each.close(timeout_ms: 5_000) }

    assert_empty raw.compact
    assert_empty all_of(@handles).reject(&:done?)
    assert_operator @done[:produce_async], :>, THREADS / Penstock::TestSupport::Wait::TIME_FACTOR
  end

  private

  def sender
    connected_api(kafka: {"enable.idempotence": true, "linger.ms": 1, "message.timeout.ms": 5_000}) do |config|
      config.reload_on_idempotent_fatal_error = true
      config.wait_backoff_on_idempotent_fatal_error = 0
      config.max_attempts_on_idempotent_fatal_error = 1_000
      config.max_wait_timeout = 10_000
      config.monitor.subscribe("error.occurred") { |event| event[:type] }
    end
  end

  # @return [String, nil] an unexpected error
  def deeds(random)
    weighed = DEEDS.flat_map { |name, weight| [name] * weight }
    until yield
      begin
        name = weighed.sample(random: random)
        @done[name] += 1
        send(:"do_#{name}", @senders[random.rand(PRODUCERS)], random)
      rescue *EXPECTED
        nil
      end
    end
  rescue Exception => error # rubocop:disable Lint/RescueException -- it is what is looked for
    "#{name}: #{error.full_message(highlight: false)}"
  end

  def do_produce_async(sender, random) = keep(sender.produce_async(thing(label: random.rand(2).zero? ? nil : :some)))
  def do_produce_sync(sender, _) = sender.produce_sync(thing)
  def do_produce_many_async(sender, random) = sender.produce_many_async([thing] * random.rand(40)).each { |handle| keep(handle) }
  def do_produce_many_sync(sender, random) = sender.produce_many_sync([thing] * random.rand(10))
  def do_variant(sender, _) = keep(sender.with(**SPECIAL).produce_async(topic: "special", payload: "x"))
  def do_buffer(sender, _) = sender.buffer(thing)
  def do_flush_async(sender, _) = sender.flush_async.each { |handle| keep(handle) }
  def do_flush_sync(sender, _) = sender.flush_sync
  def do_flush(sender, random) = sender.flush(random.rand(200))
  def do_wait(_, _) = @handles.size.positive? && keep(@handles.pop(true)).wait(timeout_ms: 50)

  # Another thread may just have closed the client.
  def do_reload(sender, _)
    Penstock::Testing.inject_fatal_error(sender, 47)
  rescue Penstock::HandleClosedError
    nil
  end

  def do_disconnect(sender, _) = sender.disconnect
  def do_purge(sender, _) = sender.purge
  def do_partition_count(sender, _) = sender.partition_count("things")
  def do_inspect(sender, _) = [sender.inspect, sender.queue_size, sender.fatal_error, sender.status.to_s]

  def do_close(sender, random)
    sender.close(timeout_ms: random.rand(500))
    @lock.synchronize { @senders[@senders.index(sender)] = self.sender if @senders.include?(sender) }
  end

  # Not all of them: they keep their messages in memory.
  def keep(handle)
    handle.tap { @handles << handle if handle != true && @handles.size < 2_000 }
  end
end
