# frozen_string_literal: true

require "test_helper"
require "stringio"
require "penstock/producer"
require "support/fake_client"

# Mistakes of a user's first days with a producer, and their messages as a whole. Nothing is sent, and no broker answers.
class FirstDayProducingTest < Penstock::TestCase
  KAFKA = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 300}.freeze

  def setup
    @producer = Penstock::Producer.new do |config|
      config.kafka = KAFKA
      config.id = "shop"
      config.logger = Logger.new(StringIO.new)
    end
  end

  def teardown
    @producer.close(timeout_ms: 100)
  end

  RULE = ":topic must be a name of at most 249 letters, digits, dots, dashes and underscores (but not . or ..), is"

  # Mistake => message Hash and text.
  MESSAGES = {
    "no topic" => [{topic: nil, payload: "x"}, "the message can't be sent: #{RULE} nil"],
    "a topic with a space" => [{topic: "a b", payload: "x"}, "the message to a b can't be sent: #{RULE} \"a b\""],
    "a Hash as payload" => [{topic: "t", payload: {a: 1}},
      "the message to t can't be sent: :payload must be a String or nil, is a Hash: call .to_json"],
    "no payload" => [{topic: "t", key: "x"}, "the message to t can't be sent: :payload is missing (nil makes a tombstone)"],
    "a number as key" => [{topic: "t", payload: "x", key: 42},
      "the message to t can't be sent: :key must be a String that isn't empty, or nil, is 42"],
    "a Symbol as header" => [{topic: "t", payload: "x", headers: {a: "1"}},
      "the message to t can't be sent: the name of header :a must be a String"],
    "a misspelt key" => [{topic: "t", payload: "x", partion: 1},
      "the message to t can't be sent: :partion is unknown. Did you mean partition?"],
    "Strings as keys" => [{"topic" => "t"}, "the message can't be sent: \"topic\" is unknown; #{RULE} nil; :payload is " \
      "missing (nil makes a tombstone)"],
    "a payload that is too large" => [{topic: "t", payload: "x" * 1_000_013},
      "the message to t can't be sent: :payload has 1000013 bytes, more than max_payload_size (1000012)"]
  }.freeze

  MESSAGES.each do |mistake, (message, text)|
    test "#{mistake} is refused with what is expected" do
      error = assert_raises(Penstock::MessageInvalidError) { @producer.produce_sync(message) }

      assert_equal text, error.message
    end
  end

  test "a single message where several are expected is refused" do
    error = assert_raises(Penstock::MessageInvalidError) { @producer.produce_many_sync({topic: "t", payload: "x"}) }

    assert_equal "several messages are given as an Array of Hashes, not as Hash: produce_sync and produce_async take a single " \
                 "one", error.message
  end

  test "a transaction without an id is refused with the setting" do
    error = assert_raises(Penstock::ProducerNotTransactionalError) { @producer.transaction { nil } }

    assert_equal "the producer shop has no transactions: give it a transactional.id in its config.kafka", error.message
  end

  test "a closed producer is refused with what to do" do
    @producer.close
    error = assert_raises(Penstock::ProducerClosedError) { @producer.produce_sync(topic: "t", payload: "x") }

    assert_equal "the producer shop is closed: create a new one", error.message
  end

  test "a message that no broker takes in time has the settings to check and the client's last error" do
    error = assert_raises(Penstock::ProduceError) { @producer.produce_sync(topic: "t", payload: "x") }

    assert_match(/\At: Local: Message timed out \(msg_timed_out\)\. It wasn't acknowledged within message\.timeout\.ms: check \
bootstrap\.servers, and that the topic exists\. The client's last error: .*(?:Connection refused|brokers are down).*\z/,
      error.message)
  end

  # The cluster's answer => the text that is added.
  ANSWERS = {
    unknown_partition: "The topic has no such partition: choose one that it has, or create more; to produce, leave out " \
      "`partition:`, so that the key chooses one",
    msg_size_too_large: "It has 1 bytes, more than the topic's max.message.bytes: send less, or raise it",
    unknown_topic_or_part: "Check the topic's name (`penstock topics list`) and that this user may see it, or create it " \
      "(`penstock topics create`)",
    topic_authorization_failed: "Grant this user WRITE on the topic orders",
    producer_fenced: "Another producer uses the same transactional.id: give each producer its own",
    fenced: "Another producer uses the same transactional.id: give each producer its own"
  }.freeze

  ANSWERS.each do |code, hint|
    test "the answer #{code} has what can be done" do
      client = FakeClient.new
      client.refusal = Penstock::KafkaError.build(number: 1, name: code, message: "Broker: refused")
      dispatcher = Penstock::Producer::Dispatcher.new(client, Penstock::Producer::Settings.new.tap { |one| one.kafka = KAFKA })
      error = assert_raises(Penstock::ProduceError) { dispatcher.one({topic: "orders", payload: "x"}, "message.produce_sync") }

      assert_equal "orders: Broker: refused (#{code}). #{hint}", error.message
    end
  end

  test "a message that is larger than the producer's limit has both sizes" do
    client = FakeClient.new
    client.refusal = Penstock::KafkaError.build(number: 10, name: :msg_size_too_large, message: "Broker: Message size too large")
    settings = Penstock::Producer::Settings.new.tap { |one| one.kafka = {**KAFKA, "message.max.bytes": 2_000} }
    message = {topic: "orders", payload: "x" * 1_990, key: "key", headers: {"type" => %w[a bc]}}
    error = assert_raises(Penstock::ProduceError) do
      Penstock::Producer::Dispatcher.new(client, settings).one(message, "message.produce_sync")
    end

    assert_equal "orders: Broker: Message size too large (msg_size_too_large). It has 2000 bytes, and this producer's " \
      "message.max.bytes is 2000: send less, or raise it, and the topic's max.message.bytes if that is lower", error.message
  end

  test "a limit in seconds has the name and the value in milliseconds" do
    handle = Object.new.extend(Penstock::Producer::Delivery::Waiting)
    error = assert_raises(ArgumentError) { handle.wait(timeout: 1.5) }
    assert_equal "wait has no limit in seconds: write wait(timeout_ms: 1500), in milliseconds", error.message
    assert_match(/timeout_ms: 60000/, assert_raises(ArgumentError) { handle.wait(max_wait_timeout: 60) }.message)
  end

  test "a partition that doesn't exist is named" do
    client = FakeClient.new
    client.refusal = Penstock::KafkaError.build(number: 1, name: :unknown_partition, message: "Local: Unknown partition")
    dispatcher = Penstock::Producer::Dispatcher.new(client, Penstock::Producer::Settings.new.tap { |one| one.kafka = KAFKA })
    message = {topic: "orders", payload: "x", partition: 9}
    error = assert_raises(Penstock::ProduceError) { dispatcher.one(message, "message.produce_sync") }

    assert_match(%r{\Aorders/9: Local: Unknown partition}, error.message)
  end

  # Mistake => block of the settings and text.
  SETTINGS = {
    "a misspelt setting" => [->(config) { config.max_wait_timout = 1 },
      "config.max_wait_timout: a producer has no such setting. Did you mean max_wait_timeout?"],
    "a misspelt property" => [->(config) { config.kafka = {**KAFKA, ack: "all"} },
      'config.kafka.ack: No such configuration property: "ack". Did you mean acks?'],
    "acks that don't exist" => [->(config) { config.kafka = {**KAFKA, "request.required.acks": "sometimes"} },
      'config.kafka.request.required.acks: must be "all" or an Integer, is "sometimes". Write "all"'],
    "a time with a unit" => [->(config) { config.kafka = {**KAFKA, "linger.ms": "5ms"} },
      'config.kafka.linger.ms: must be a number (milliseconds), is "5ms". Write 5'],
    "SASL without a mechanism" => [->(config) { config.kafka = {**KAFKA, "security.protocol": "sasl_ssl"} },
      "config.kafka.security.protocol: sasl_ssl needs sasl.mechanism, which is missing. Write \"sasl.mechanism\": \"PLAIN\", " \
      "\"SCRAM-SHA-256\", \"SCRAM-SHA-512\", \"OAUTHBEARER\" or \"GSSAPI\" (Kerberos)"],
    "a partitioner that doesn't exist" => [->(config) { config.kafka = {**KAFKA, partitioner: "mine"} },
      'config.kafka.partitioner: Invalid value for configuration property "partitioner": mine. Allowed: random, consistent, ' \
      "consistent_random, murmur2, murmur2_random, fnv1a, fnv1a_random"]
  }.freeze

  SETTINGS.each do |mistake, (block, text)|
    test "#{mistake} of a producer is refused with its way out" do
      error = assert_raises(Penstock::ConfigurationError) do
        Penstock::Producer.new do |config|
          config.kafka = KAFKA
          block.call(config)
        end
      end

      assert_equal text, error.message
    end
  end

  test "timestamps that look like seconds are reported once per producer" do
    log = StringIO.new
    producer = Penstock::Producer.new do |config|
      config.kafka = KAFKA
      config.logger = Logger.new(log, formatter: ->(level, _time, _name, text) { "#{level} #{text}\n" })
      config.id = "shop"
    end
    {times: Time.at(1_700_000_000), milliseconds: 1_700_000_000_000, orders: 1_700_000_000, clicks: 1_700_000_001}
      .each { |topic, timestamp| producer.produce_async(topic: topic, payload: "x", timestamp: timestamp) }
    producer.close!(timeout_ms: 0)

    warnings = log.string.lines(chomp: true).grep(/1970/)
    assert_equal ["WARN a message to orders has the timestamp 1700000000, which is in 1970: timestamps are in milliseconds. " \
      "Write a Time (timestamp: Time.now) if you mean seconds. Reported once per producer"], warnings
  end

  UNCLOSED = <<~RUBY
    require "penstock"
    producer = Penstock::Producer.new do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      config.id = "shop"
      config.logger = Logger.new(File::NULL)
    end
  RUBY

  test "a producer that isn't closed at the end of the process is reported with what it still has" do
    program = "#{UNCLOSED}2.times { producer.produce_async(topic: 'orders', payload: 'x') }\n"

    assert_equal "penstock: the producer shop wasn't closed before the process ended: 2 messages that aren't acknowledged by a " \
                 "broker may be lost. Call `close` on the producer at the end, which waits for them\n", stderr_of(program)
    assert_equal "", stderr_of("#{program}at_exit { producer.close(timeout_ms: 10) }\n")
  end

  test "messages in the buffer of a producer that isn't closed are counted, too, also if it has never sent any" do
    program = "#{UNCLOSED}3.times { producer.buffer(topic: 'orders', payload: 'x') }\n"
    both = "#{program}producer.produce_async(topic: 'orders', payload: 'x')\n"

    assert_equal "penstock: the producer shop wasn't closed before the process ended: 3 messages that aren't acknowledged by a " \
                 "broker may be lost (3 of 3 in the buffer, not sent). Call `close` on the producer at the end, which sends " \
                 "the buffer and waits for them\n", stderr_of(program)
    assert_match(/: 4 messages .* \(3 of 4 in the buffer, not sent\)/, stderr_of(both))
    assert_equal 1, stderr_of("#{program}Process.wait(fork { })\n").lines.size, "a child has none of its parent's messages"
    assert_equal "", stderr_of("#{program}producer.close(timeout_ms: 10)\n")
  end

  private

  def stderr_of(program)
    library = File.expand_path("../../../lib", __dir__)
    IO.popen([RbConfig.ruby, "-W0", "-I", library, "-rlogger", "-e", program, {err: %i[child out]}], &:read)
  end
end
