# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "support/log_lines"
require "penstock/consumer/base_consumer"

module Penstock
  # Mistakes of a user's first days that show while the application runs: the lines of the log, as a whole.
  class FirstDayLogLinesTest < TestCase
    include TestSupport::LogLines
    include TestSupport::Lanes

    def setup = log

    REFUSED = "WARN app_default_0: the cluster refused a client: Penstock::"

    # Code of Kafka => the client's text, and what the log adds to it.
    REFUSALS = {
      group_authorization_failed: ["FindCoordinator response error: Group authorization failed.",
        "Grant this user READ on the consumer group, to look at it DESCRIBE, to delete it DELETE"],
      topic_authorization_failed: ["Subscribed topic not available: orders: Broker: Topic authorization failed",
        "Grant this user READ on the topic to consume from it, WRITE to produce to it, CREATE to create it, DELETE to " \
        "delete it, DESCRIBE_CONFIGS and ALTER_CONFIGS for its settings"],
      cluster_authorization_failed: ["Broker: Cluster authorization failed", "Grant this user the right on the cluster: CREATE " \
        "for topics, DESCRIBE and ALTER for rights and users, DESCRIBE_CONFIGS and ALTER_CONFIGS for brokers' settings. A " \
        "producer needs WRITE on the topic it produces to, and on brokers before Kafka 3.0 IDEMPOTENT_WRITE on the cluster"],
      transactional_id_authorization_failed: ["Broker: Transactional Id authorization failed",
        "Grant this user WRITE and DESCRIBE on the transactional.id"],
      invalid_session_timeout: ["JoinGroup failed: Broker: Invalid session timeout", "Set session.timeout.ms, in " \
        "milliseconds, between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms (6000 and 1800000 " \
        "unless changed)"],
      unsupported_version: ["ConsumerGroupHeartbeat fatal error: Broker: API version not supported", "The broker doesn't have " \
        "this request, or has it switched off: upgrade the broker. `group.protocol: consumer` needs Kafka 4.0 or newer"],
      inconsistent_group_protocol: ["JoinGroup failed: Broker: Inconsistent group protocol", "Other members of the group use " \
        "another partition.assignment.strategy or group.protocol: give all processes of the group the same, or this " \
        "application a group_id of its own"]
    }.freeze

    REFUSALS.each do |code, (text, hint)|
      test "#{code} has what to grant or to change" do
        client(code, text)

        assert_equal ["#{REFUSED}KafkaError: #{text} (#{code}). #{hint}"], lines
      end
    end

    test "a member id that another process uses is named as the cause" do
      client(:fenced_instance_id, "Fatal consumer error: Broker: Static consumer fenced")

      assert_equal ["#{REFUSED}FencedError: Fatal consumer error: Broker: Static consumer fenced (fenced_instance_id). Another " \
        "process uses the same static_membership (or group.instance.id): give each process its own"], lines
    end

    # The client's text => step and hint.
    CONNECTIONS = {
      [:bad_msg, "127.0.0.1:8080/bootstrap: Receive failed: Invalid response size 1213486160 (0..100000000): increase " \
                 "receive.message.max.bytes (after 12ms in state APIVERSION_QUERY)"] =>
        "no connection to 127.0.0.1:8080, Kafka failed: Receive failed: Invalid response size 1213486160 (0..100000000). An " \
        "HTTP server answers there, which is no Kafka broker: check the port.",
      [:resolve, "kafka.nowhere:9092/bootstrap: Failed to resolve 'kafka.nowhere:9092': Name or service not known"] =>
        "no connection to kafka.nowhere:9092, DNS failed: Failed to resolve 'kafka.nowhere:9092': Name or service not known. " \
        "Check the spelling in bootstrap.servers, and whether this machine is on the right network.",
      [:transport, "127.0.0.1:9099/bootstrap: Connect to ipv4#127.0.0.1:9099 failed: Connection refused (after 0ms in state " \
                   "CONNECT)"] =>
        "no connection to 127.0.0.1:9099, TCP failed: Connection refused. Nothing listens there: check that the broker runs " \
        "and that this is its port.",
      [:ssl, "ssl://127.0.0.1:9092/bootstrap: SSL handshake failed: Disconnected: SSL connection closed by peer: connecting " \
             "to a PLAINTEXT broker listener? (after 3ms in state SSL_HANDSHAKE)"] =>
        "no connection to 127.0.0.1:9092, TLS failed: SSL handshake failed: Disconnected: SSL connection closed by peer: " \
        "connecting to a PLAINTEXT broker listener? This listener speaks no TLS: use the port of the broker's TLS listener, " \
        "or a security.protocol without ssl.",
      [:authentication, "sasl_plaintext://127.0.0.1:9092/bootstrap: Failed to initialize SASL authentication: SASL Handshake " \
                        "not supported by broker (required by mechanism PLAIN) (after 2ms in state APIVERSION_QUERY)"] =>
        "no connection to 127.0.0.1:9092, SASL failed: Failed to initialize SASL authentication: SASL Handshake not supported " \
        "by broker (required by mechanism PLAIN). This listener speaks no SASL: use the port of the broker's SASL listener, or " \
        "a security.protocol without sasl.",
      [:authentication, "sasl_plaintext://127.0.0.1:9092/bootstrap: SASL authentication error: Authentication failed: Invalid " \
                        "username or password (after 311ms in state AUTH_REQ)"] =>
        "no connection to 127.0.0.1:9092, SASL failed: SASL authentication error: Authentication failed: Invalid username or " \
        "password. Check sasl.username, sasl.password and sasl.mechanisms.",
      [:authentication, "sasl_plaintext://127.0.0.1:9092/bootstrap: SASL SCRAM-SHA-256 mechanism handshake failed: Broker: " \
                        "Unsupported SASL mechanism: broker's supported mechanisms: PLAIN (after 2ms in state AUTH_HANDSHAKE)"] =>
        "no connection to 127.0.0.1:9092, SASL failed: SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL " \
        "mechanism: broker's supported mechanisms: PLAIN. Set sasl.mechanisms to one that this listener supports.",
      [:transport, "127.0.0.1:9093/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN (after 1ms in " \
                   "state APIVERSION_QUERY)"] =>
        "no connection to 127.0.0.1:9093, Kafka failed: Disconnected: connection closed by peer: receive 0 after POLLIN. The " \
        "broker ends the connection at once, as a TLS or SASL listener does with a client that speaks neither: check that " \
        "security.protocol is the one of this listener."
    }.freeze

    CONNECTIONS.each do |(code, text), line|
      test "a failed connection has its step and what to check: #{line[/\w+ failed: .{20}/]}" do
        client(code, text)

        assert_equal ["WARN app_default_0: #{line} Retried until it succeeds"], lines
      end
    end

    test "a topic that doesn't exist has the command that creates it" do
      @monitor.instrument("connection.topic", {topic: "ordrs", consumer_group_id: "app", exists: false, partitions: 0,
        start_offset: "earliest"})

      assert_equal ["WARN topic ordrs (group app) doesn't exist, or this user may not see it; it is consumed as soon as it " \
        "exists. Check its name, or create it: penstock topics create ordrs"], lines
    end

    test "a payload that isn't JSON has its record, the reason and the way out" do
      reason = ArgumentError.new("unexpected character: 'hello' at line 1 column 1")
      failed(DeserializationError.new(topic: "orders", partition: 3, offset: 7, reason: reason))

      assert_equal "ERROR orders/3: consume failed at offset 7, attempt 1; tried again in 2 s: Penstock::DeserializationError: " \
                   "orders/3 at offset 7: the payload can't be deserialized: ArgumentError: unexpected character: 'hello' at " \
                   "line 1 column 1: raw_payload, raw_key and raw_headers have the bytes as they are; for another format set " \
                   "`deserializer` in the route", lines.first
    end

    test "an unknown method in consume is one line, without the piece of source that some versions of Ruby append" do
      error = NoMethodError.new("undefined method `nothing' for #<Penstock::Message orders/3/7>\n\n  messages.each { |m| " \
        "m.nothing }\n                      ^^^^^^^^\nDid you mean?  offset\n               topic")
      failed(error)

      assert_equal "ERROR orders/3: consume failed at offset 7, attempt 1; tried again in 2 s: NoMethodError: undefined method " \
                   "`nothing' for #<Penstock::Message orders/3/7>. Did you mean offset or topic?", lines.first
    end

    test "a partitioner that raises is named as the option of the route" do
      @monitor.instrument("error.occurred", {type: "virtual_partitions.partitioner.error", topic: "orders", partition: 3,
        error: KeyError.new("key not found: \"customer\""), failures: 1, offset: 7})

      assert_equal ["ERROR orders/3: `by:` or `reducer:` of `parallel` raised, and is called again for the same " \
        "messages after a back-off; or it returned two keys for one message, and the first one counts: " \
        "KeyError: key not found: \"customer\" [offset 7, failures 1]"], lines
    end

    test "a seek beyond the end of the log has the offset where it continues, and why" do
      @monitor.instrument("consumer.offset_reset", {topic: "orders", partition: 3, old_offset: 100_000, new_offset: 0,
        count: 100_000, reason: "the log went backwards"})

      assert_equal ["WARN orders/3: continues at offset 0 instead of 100000: the log ends before it, because the topic was " \
        "created again, its end was lost, or `seek` went beyond it"], lines
    end

    test "records that retention deleted before they were read are counted" do
      @monitor.instrument("consumer.offset_reset", {topic: "orders", partition: 3, old_offset: 100, new_offset: 149,
        count: 48, reason: "retention deleted records"})

      assert_equal ["WARN orders/3: continues at offset 149 instead of 100: retention deleted records; never read: 48 records"],
        lines
    end

    test "jobs that a stop interrupts are named by their action and records" do
      lane = lane(committed: 0)
      admit(lane, batch(0..2, from: 0))
      @monitor.instrument("app.interrupting", {jobs: [lane.next_unit, lane.action_unit(:shutdown, messages([]))]})

      assert_equal ["WARN the rest of shutdown_timeout is reserved for the last commits, interrupting consume of orders/0 " \
        "offsets 0..2, shutdown of orders/0"], lines
    end

    test "a consumer that never marks is named with its place" do
      @monitor.instrument("consumer.unmarked", {topic: "orders", partition: 3, offset: 17, waited_ms: 300_000,
        place: "OrdersConsumer#consume (orders.rb:4)"})

      assert_equal ["WARN orders/3: OrdersConsumer#consume (orders.rb:4) has marked nothing from offset 17 on for 300.0 s, " \
        "although its calls end without an error. With manual_offset_management nothing is committed until you call " \
        "mark_as_consumed: after a restart or a rebalance these records come again"], lines
    end

    test "a consumer that a test creates by new has the way to build it" do
      consumer = Class.new(BaseConsumer) { def consume = messages.each { |message| message } }.new

      assert_includes assert_raises(ConfigurationError) { consumer.consume }.message, "build it with penstock.consumer_for"
    end

    private

    def client(code, text)
      error = KafkaError.build(number: 1, name: code, message: text)
      @monitor.instrument("error.occurred", {type: "librdkafka.error", error: error, subscription_group: "app_default_0"})
    end

    def messages(offsets) = Messages.new(Messages::MemoryBatch.new("orders", 0, offsets))
  end
end
