# frozen_string_literal: true

require "test_helper"
require "penstock/native/admin"
require "penstock/native/conf"
require "penstock/native/consumer"
require "penstock/native/core"
require "support/native_producing"

# Converting an argument runs user code and other threads: values read before may have changed by then, and an Array of two may
# have a thousand entries. Most of these cases crashed the process; with the sanitizers all did.
class ChangingArgumentsTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  # Converts itself, and runs a block meanwhile.
  class Converted
    def initialize(value, &meanwhile)
      @value = value
      @meanwhile = meanwhile
    end

    def to_str = convert
    def to_int = convert
    def to_s = convert

    private

    def convert
      @meanwhile&.call
      @value
    end
  end

  # A topic's name that runs a block when it is compared.
  class Name < String
    attr_writer :meanwhile

    def eql?(other)
      @meanwhile&.call
      super
    end
  end

  # Properties that convert themselves to another Array.
  class Listed < Hash
    def to_a = Class.new { def flatten = 5 }.new
  end

  def teardown
    [@consumer, @admin].compact.each { |handle| handle.is_a?(Penstock::Native::Admin) ? handle.close : handle.close(0) }
    super
  end

  def consumer
    @consumer ||= Penstock::Native::Consumer.new({"bootstrap.servers" => NOBODY, "group.id" => "readers"})
  end

  def admin(address = NOBODY)
    @admin ||= Penstock::Native::Admin.new({"bootstrap.servers" => address})
  end

  # Too long to be embedded in the object.
  def long(text) = text + ("_" * 4_000)

  def wreck(text)
    text.replace("y" * 9_000)
    text.clear
    50.times { "z" * 4_003 }
    GC.start
  end

  test "topics to subscribe to may convert themselves, and change each other" do
    topics = ["first", nil]
    topics[1] = Converted.new("second") { topics[0] = 5 }

    assert_same consumer, consumer.subscribe(topics)
    assert_same consumer, consumer.subscribe([Converted.new("things")])
  end

  test "an object that converts itself isn't accepted as a row of a list" do
    rows = [["things", 0, 1], ["things", Converted.new(1) { rows[0] = nil }, 1]]

    [-> { consumer.commit(1, rows) }, -> { consumer.assign(rows) }, -> { consumer.offsets_for_times(rows, 10) },
      -> { admin.list_offsets(rows, 10) }].each do |use|
      assert_raises(TypeError, &use)
    end
    assert_raises(TypeError) { consumer.offsets_for_times([["things", 0, 1]], Converted.new(10)) }
    assert_raises(TypeError) { consumer.commit(1, [[Converted.new("things"), 0]]) }
  end

  test "an invalid topic name is refused, not passed to librdkafka" do
    assert_nil consumer.assign([["t" * 249, 0]])
    assert_raises(ArgumentError) { consumer.assign([["t" * 600, 0]]) }
    error = assert_raises(Penstock::KafkaError) { consumer.metadata("t" * 600, 100) }

    assert_equal :invalid_arg, error.code
  end

  test "the given names are used, although they change while numbers are read" do
    [[:cached_watermarks], [:query_watermarks, 1]].each do |question, *timeout|
      name = long("things")
      consumer.public_send(question, name, Converted.new(0) { wreck(name) }, *timeout)
    rescue Penstock::KafkaError
      next
    end
    [consumer, admin].each do |handle|
      name = long("things")[0, 240]
      assert_raises(Penstock::KafkaError) { handle.metadata(name, Converted.new(1) { wreck(name) }) }
    end
  end

  test "a property is checked under the name that was given" do
    name = long("linger")

    assert_includes Penstock::Native::Conf.check(name, Converted.new("5") { wreck(name) }), "linger____"
  end

  test "the given partitioner is used" do
    expected = Penstock::Native::Producer.partition_for("murmur2", "k", 7)
    name = String.new("murmur2", capacity: 4_000)

    assert_equal expected, Penstock::Native::Producer.partition_for(name, "k", Converted.new(7) { wreck(name) })
  end

  test "the given token is used; its extensions must be a Hash or a flat Array" do
    [consumer, admin, producer_on(NOBODY)].each do |handle|
      token = long("token")
      give = ->(extensions) { handle.set_token(token, Converted.new(1) { wreck(token) }, "me", extensions) }
      [{Converted.new("k") { wreck(token) } => "v"}, ["k", "v"] * 200_000, nil].each do |extensions|
        give.call(extensions)
      rescue Penstock::KafkaError
        next
      end

      assert_raises(TypeError) { handle.set_token("token", 1, "me", 5) }
      assert_raises(TypeError) { handle.set_token("token", 1, "me", {"k" => nil}) }
    end
  end

  test "a topic's properties must be a Hash, and the given key is used" do
    producer = producer_on(NOBODY)
    key = long("other")
    producer.open_topic_with(key, "other", {"acks" => Converted.new("0") { wreck(key) }})

    assert_nil producer.open_topic_with("third", "third", Listed["acks", "0"])
    assert producer.dispatch({topic: "third", payload: "x"})
    assert_raises(TypeError) { producer.open_topic_with("fourth", "fourth", [["acks", "0"]]) }
    assert_raises(TypeError) { admin.create_topics([["t", 1, 1, [1, 2]]], 10) }
  end

  test "a payload that grows while later messages are read is copied completely" do
    producer = producer_on(cluster.bootstrap_servers)
    payload = +"x"
    name = Name.new("things").tap { |each| each.meanwhile = -> { payload << ("y" * 500_000) if payload.size == 1 } }
    accepted = []

    assert_equal 0, producer.dispatch_slice([{topic: "things", payload: payload}, {topic: name, payload: "z"}], 0, true, accepted)
    assert accepted.all? { |delivery| delivery.await(40_000) && delivery.number.zero? }
    assert_equal 500_001, payload.size
  end

  test "a producer that was never opened can be closed" do
    never = Penstock::Native::Producer.allocate

    assert_raises(Penstock::HandleClosedError) { never.dispatch_slice([], 0, false, []) }
    assert_raises(Penstock::HandleClosedError) { never.plain?([]) }
  end

  test "rows added while the rows are read are ignored" do
    ledger = Penstock::Native::Ledger.new(0)
    runs = [[10, nil]]
    runs[0][1] = Converted.new(20) { 50_000.times { |i| runs << [100 + (4 * i), 102 + (4 * i)] } }
    ledger.restore(runs)
    counts = [[10, nil]]
    counts[0][1] = Converted.new(1) { 50_000.times { |i| counts << [100 + i, 1] } }
    text, = Penstock::Native::Envelope.pack(0, nil, "things", true, ledger, counts, [0, []], nil, 4_096)
    _, _, ranges, attempts = Penstock::Native::Envelope.unpack(text, 0, nil, "things")

    assert_equal [[[10, 20]], [[10, 1]]], [ranges, attempts]
  end

  test "numbers at the limits of their range are refused or accepted, never wrapped" do
    largest = (2**63) - 1
    ledger = Penstock::Native::Ledger.new(0)
    ledger.admit(0, 10)
    ledger.complete(5)
    batch = Struct.new(:size).new(largest)

    assert_raises(ArgumentError) { Penstock::Native::Ledger.new.admit_batch(0, 5, batch) }
    assert_raises(ArgumentError) { Penstock::Native::Ledger.new.admit_batch(-(2**63), largest, batch) }
    text, = Penstock::Native::Envelope.pack(largest, nil, "things", true, ledger, [], [0, []], nil, 4_096)

    assert_nil Penstock::Native::Envelope.unpack(text, largest, nil, "things").first
    assert_includes admin(cluster.bootstrap_servers).metadata("things", (2**31) - 1)[:topics], "things"
  end
end
