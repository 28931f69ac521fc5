# frozen_string_literal: true

# The producer of the demo, a separate process: sends the orders at the requested rate, and writes a line to its
# journal for each order that the broker has acknowledged.
require "json"
require "penstock"
require_relative "journal"
require_relative "progress"

module Demo
  # Sends in batches and checks the deliveries of one batch while later ones are in flight.
  class OrderProducer
    BATCH = 100
    BATCHES_UNDER_WAY = 40
    DELIVERY_LIMIT_MS = 30_000
    CLOSE_LIMIT_MS = 5_000

    def initialize(env)
      @env = env
      @count = Integer(env.fetch("DEMO_COUNT"))
      @customers = Integer(env.fetch("DEMO_CUSTOMERS"))
      @rate = Integer(env.fetch("DEMO_RATE"))
      @topic = env.fetch("DEMO_TOPIC")
      @journal = Journal.new(env.fetch("DEMO_JOURNAL"))
      @progress = Progress.new(IO.for_fd(Integer(env.fetch("DEMO_STATUS_FD"))))
      @random = Random.new(42)
      @under_way = []
    end

    def run
      began_ns = Journal.now_ns
      0.step(@count - 1, BATCH) do |first|
        wait_until_due(began_ns, first)
        send_batch(first, [first + BATCH, @count].min)
        confirm(@under_way.shift) while settled?(@under_way.first) || @under_way.size > BATCHES_UNDER_WAY
      end
      confirm(@under_way.shift) until @under_way.empty?
    ensure
      close
    end

    private

    def producer
      @producer ||= Penstock::Producer.new do |config|
        config.kafka = {**JSON.parse(@env.fetch("DEMO_KAFKA"), symbolize_names: true), "enable.idempotence": true}
      end
    end

    # As fast as possible when the rate is 0.
    def wait_until_due(began_ns, first)
      return if @rate.zero?

      ahead_ns = began_ns + (first * 1_000_000_000 / @rate) - Journal.now_ns
      sleep(ahead_ns / 1e9) if ahead_ns.positive?
    end

    def send_batch(first, last)
      orders = (first...last).map { |id| order(id) }
      sent_ns = Journal.now_ns
      handles = producer.produce_many_async(orders)
      @under_way << [first, sent_ns, handles]
      @progress.taken(orders.size)
    end

    def order(id)
      customer = @random.rand(@customers)
      items = Array.new(@random.rand(1..2)) { {price: @random.rand(1..9_999), count: @random.rand(1..3)} }
      {topic: @topic, key: "customer-#{customer}", payload: JSON.generate(id: id, customer: customer, items: items)}
    end

    def settled?(batch)
      batch&.last&.none?(&:pending?)
    end

    # The journal has the orders that the broker acknowledged, not those that were passed to the producer.
    def confirm(batch)
      first, sent_ns, handles = batch
      handles.each_with_index do |handle, index|
        report = handle.wait(timeout_ms: DELIVERY_LIMIT_MS)
        @journal.write("produced", first + index, report.partition, report.offset, sent_ns)
        @progress.finished(report.partition, report.offset)
      rescue Penstock::Error => error
        @journal.write("undelivered", first + index, error.class)
      end
    end

    def close
      @producer&.close(timeout_ms: CLOSE_LIMIT_MS)
      @progress.close
      @journal.close
    end
  end
end

Demo::OrderProducer.new(ENV).run
