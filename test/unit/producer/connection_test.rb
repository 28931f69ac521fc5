# frozen_string_literal: true

require "test_helper"
require "penstock/producer"

# The life cycle of the client, with clients that send nothing.
class ProducerConnectionTest < Penstock::TestCase
  Producer = Penstock::Producer

  # For `config.client_class`: keeps the clients that it creates.
  class Clients
    attr_reader :made

    def initialize
      @made = []
    end

    def new
      Producer::DryClient.new.tap { |client| @made << client }
    end
  end

  # The producer's work besides its client, set by a test.
  Pending = Struct.new(:no_transaction, :nothing_buffered, :steps) do
    alias_method :no_transaction?, :no_transaction
    alias_method :nothing_buffered?, :nothing_buffered

    def between_transactions
      yield if no_transaction
    end

    def end_transactions(_deadline) = steps << :end_transactions

    def flush
      steps << :flush
      {}
    end

    def take_buffered = []
  end

  def setup
    @clients = Clients.new
    @pending = Pending.new(true, true, [])
    @connection = Producer::Connection.new(:producer)
    settings = Producer::Settings.new.tap do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      config.client_class = @clients
    end
    @connection.configure(settings.finish!, @pending)
  end

  def teardown
    @connection.close(1_000)
    super
  end

  def events(*names)
    [].tap { |seen| names.each { |name| @connection.monitor.subscribe(name) { |event| seen << event } } }
  end

  def fatal_error
    Penstock::KafkaError.new("no", code: :fatal, number: -150)
  end

  test "use opens a client with the first call and yields the same one again" do
    yielded = Array.new(2) { @connection.use { |_, client| client } }

    assert_equal @clients.made * 2, yielded
    assert_predicate @connection.status, :connected?
  end

  test "use raises before configure and after close" do
    assert_raises(Penstock::ConfigurationError) { Producer::Connection.new(:producer).use { flunk } }
    @connection.close(0)
    assert_raises(Penstock::ProducerClosedError) { @connection.use { flunk } }
    assert_empty @clients.made
  end

  test "use repeats the block with the new client when the old one was replaced during the call" do
    calls = []
    @connection.use do |_, client|
      calls << client
      next unless calls.one?

      @connection.reload(fatal_error, 1)
      raise Penstock::HandleClosedError, "closed"
    end

    assert_equal @clients.made, calls
    assert_equal 2, calls.uniq.size
  end

  test "use raises ProducerClosedError when its client was closed and not replaced" do
    runs = 0
    assert_raises(Penstock::ProducerClosedError) { @connection.use { (runs += 1) && raise(Penstock::HandleClosedError, "closed") } }
    assert_equal 1, runs
  end

  test "a client is not disconnected during a call, before a flush or in a transaction" do
    refute @connection.disconnect, "nothing was connected"
    assert_equal false, @connection.use { @connection.disconnect }
    @pending.nothing_buffered = false
    refute @connection.disconnect
    @pending.nothing_buffered = true
    @pending.no_transaction = false
    refute @connection.disconnect

    assert_predicate @connection.status, :connected?
    refute_predicate @clients.made.first, :closed?
  end

  test "a call that comes while listeners of a disconnect run keeps the client" do
    @connection.use { nil }
    @connection.monitor.subscribe("producer.disconnecting") { @pending.nothing_buffered = false }

    refute @connection.disconnect
    assert_predicate @connection.status, :connected?
  end

  test "a disconnected client is closed, and the next call opens another" do
    seen = events("producer.connected", "producer.disconnected")
    @connection.use { nil }
    assert @connection.disconnect
    assert_predicate @connection.status, :disconnected?
    assert_equal 0, @connection.queue_size
    @connection.use { nil }

    assert_equal [true, false], @clients.made.map(&:closed?)
    assert_equal %w[producer.connected producer.disconnected producer.connected], seen.map(&:id)
  end

  test "a reload emits the producer as its caller, and listeners may change the properties of the next client" do
    seen = events("producer.reload", "producer.reloaded")
    @connection.monitor.subscribe("producer.reload") { |event| event[:kafka][:"client.id"] = "second" }
    @connection.use { nil }
    @connection.reload(fatal_error, 3)

    assert_equal [:producer, 3], [seen.first[:caller], seen.last[:attempt]]
    assert_predicate @connection.status, :configured?
    assert_equal "second", @connection.config.kafka[:"client.id"]
    assert_predicate @clients.made.first, :closed?
  end

  test "during a reload config.kafka may be changed too, with the same effect; before and after it is frozen" do
    frozen, seen = [@connection.config.kafka.frozen?], nil
    @connection.monitor.subscribe("producer.reload") do |event|
      @connection.config.kafka[:"transactional.id"] = "t2"
      seen = event[:kafka][:"transactional.id"]
    end
    @connection.use { nil }
    @connection.reload(fatal_error, 1)
    frozen << @connection.config.kafka.frozen?

    assert_equal [[true, true], "t2", "t2"], [frozen, seen, @connection.config.kafka[:"transactional.id"]]
  end

  test "config.kafka is frozen again if a producer that was closed meanwhile isn't reloaded" do
    @connection.use { nil }
    @connection.monitor.subscribe("producer.reload") do
      @connection.config.kafka[:"client.id"] = "second"
      @connection.close(1_000)
    end
    @connection.reload(fatal_error, 1)

    assert_equal [true, "penstock"], [@connection.config.kafka.frozen?, @connection.config.kafka[:"client.id"]]
  end

  test "a closing connection is not reloaded" do
    @connection.use { nil }
    reloaded = []
    @connection.monitor.subscribe("producer.closing") { reloaded << @connection.reload(fatal_error, 1) }
    @connection.close(1_000)

    assert_equal [[nil], 1], [reloaded, @clients.made.size]
    assert_predicate @connection.status, :closed?
  end

  test "a close ends the transaction, flushes and closes the client, once" do
    @connection.use { nil }
    seen = events("producer.closed")
    2.times { @connection.close(1_000) }

    assert_equal %i[end_transactions flush], @pending.steps
    assert_equal [1, true], [seen.size, @clients.made.first.closed?]
  end

  test "a close may be called in a signal handler" do
    @connection.use { nil }
    before = trap("USR2") { @connection.close(1_000) }
    Process.kill(:USR2, Process.pid)
    wait_until(10, "a closed connection") { @connection.status.closed? }

    assert_predicate @clients.made.first, :closed?
  ensure
    trap("USR2", before || "DEFAULT")
  end

  test "properties can be changed until a client was opened" do
    other = @connection.config.kafka.merge("client.id": "other")
    assert @connection.reconfigure(other)
    @connection.use { nil }
    refute @connection.reconfigure(other)
    assert_equal "other", @connection.config.kafka[:"client.id"]
  end
end
