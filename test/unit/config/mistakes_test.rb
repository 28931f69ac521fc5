# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock/consumer/base_consumer"

# Users' mistakes and their messages. All are reported before anything is opened.
class MistakesTest < Penstock::TestCase
  include RoutesSupport

  test "[all errors listed] eight mistakes of one application are in one message, and nothing connects" do
    with = settings(kafka: {"bootstrap.servrs": "127.0.0.1:1", "ssl.ca.location": "certs/ca.pem"}) do |config|
      config.concurrency = "ten"
    end
    drawn = routes(with) do
      topic(:orders) do
        consumer RoutesSupport::Consumer
        max_mesages 10
      end
      topic(:orders) { consumer RoutesSupport::OtherConsumer }
      topic(:clicks)
      topic("not a name") { consumer RoutesSupport::Consumer }
      consumer_group(nil) { topic(:views) { consumer RoutesSupport::Consumer } }
    end
    threads = Penstock::Native.thread_count
    error = assert_raises(Penstock::ConfigurationError) { Penstock::Config::Validator.check!(with, drawn) }

    assert_equal <<~TEXT.chomp, plain(error.message)
      The configuration has 8 problems:
        1. config.concurrency: must be an Integer of at least 1, is "ten". The default is 5
        2. routes: topic orders: there is no option max_mesages. Did you mean max_messages?
        3. routes: topic "not a name": "not a name" is not a valid name. It must be a name of 1 to 249 letters, digits, dots, dashes and underscores (but not . or ..)
        4. routes: consumer_group nil: a name is missing. It must be a name of 1 to 249 letters, digits, dots, dashes and underscores (but not . or ..)
        5. routes: topic orders, consumer_group app: is routed 2 times in this group (mistakes_test.rb:16 and mistakes_test.rb:20), to RoutesSupport::Consumer and RoutesSupport::OtherConsumer. Keep one, or put the other into its own consumer_group
        6. routes: topic clicks, consumer_group app: has no consumer. Add `consumer YourConsumer`, or `active false` if it is only declared, for administration
        7. config.kafka: bootstrap.servrs is not a property of librdkafka. Did you mean bootstrap.servers?
        8. config.kafka: ssl.ca.location names the file certs/ca.pem, which doesn't exist in #{Dir.pwd}. Give a path that this process can read
    TEXT
    assert_equal threads, Penstock::Native.thread_count
  end

  # Name => setup block, added properties, or routes, and the reported message.
  SETUP = {
    "a name that is nil" =>
      [->(config) { config.client_id = nil }, "config.client_id: must be a name of 1 to 249 letters"],
    "a group that is missing" => [->(config) { config.group_id = nil }, "config.group_id: must be a name"],
    "a first wait longer than the longest" =>
      [->(config) { config.pause.timeout = 40_000 },
        "config.pause.timeout: (40000) must not be above pause.max_timeout (30000)"],
    "seconds as a Float" =>
      [->(config) { config.shutdown_timeout = 0.5 }, "config.shutdown_timeout: must be milliseconds, an Integer"],
    "a place to begin that doesn't exist" =>
      [->(config) { config.initial_offset = "middle" }, 'config.initial_offset: must be "earliest" or "latest"'],
    "a priority out of range" =>
      [->(config) { config.worker_thread_priority = -9 },
        "config.worker_thread_priority: must be an Integer from -3 to 3, is -9"],
    "a setting of another name" =>
      [->(config) { config.shutdown_timout = 5 }, "Did you mean config.shutdown_timeout?"],
    "a listener for tokens that can't" =>
      [->(config) { config.oauth.token_provider_listener = Object.new },
        "must be an object with the method on_oauthbearer_token_refresh"],
    "a producer that isn't one" =>
      [->(config) { config.producer = "localhost" }, "config.producer: must be an object with the methods produce_async"],
    "errors that aren't classes" =>
      [->(config) { config.critical_errors = ["NoMemoryError"] },
        "config.critical_errors: must be an Array of exception classes"],
    "no properties at all" => [->(config) { config.kafka = {} }, "config.kafka: is empty. It needs at least"],
    "properties that aren't a Hash" => [->(config) { config.kafka = "a:9092" }, "config.kafka: must be a Hash"]
  }.freeze

  KAFKA_MISTAKES = {
    "a String key" =>
      [{"fetch.min.bytes" => 1}, 'the key "fetch.min.bytes" is a String, keys must be Symbols. Write "fetch.min.bytes": …'],
    "a reserved property" =>
      [{"statistics.unassigned.include": false}, "statistics.unassigned.include isn't needed"],
    "a group's name where it doesn't belong" =>
      [{"group.id": "shop"}, "group.id is set by Penstock: it is the name of the route's consumer_group, or config.group_id"],
    "a misspelt property" =>
      [{"fetch.min.byte": 1}, "fetch.min.byte is not a property of librdkafka. Did you mean fetch.min.bytes?"],
    "underscores for dots" =>
      [{security_protocol: "ssl"}, "security_protocol is not a property of librdkafka. Did you mean security.protocol?"],
    "text for a number" => [{"fetch.min.bytes": "many"}, 'fetch.min.bytes must be an Integer (bytes), is "many"'],
    "a number out of range" => [{"fetch.wait.max.ms": 999_999_999}, "fetch.wait.max.ms is refused by librdkafka"],
    "a word that isn't one of those allowed" =>
      [{"security.protocol": "tls"}, 'Invalid value "tls" for configuration property "security.protocol"'],
    "a user without SASL" =>
      [{"sasl.username": "shop"}, "sasl.username has no effect: neither sasl.mechanism nor a security.protocol with SASL is set"],
    "a value that is nil" => [{"sasl.username": nil},
      "sasl.username is nil, as from an environment variable that isn't set. Set the environment variable"],
    "an Array" => [{"ssl.cipher.suites": %w[a b]}, "is a Array. Join the entries by commas"],
    "commits by librdkafka" => [{"enable.auto.commit": true}, "enable.auto.commit can't be true: Penstock commits offsets"],
    "timeouts that KIP-848 leaves to the broker" =>
      [{"group.protocol": "consumer", "session.timeout.ms": 6_000},
        "session.timeout.ms can't be set with group.protocol consumer (KIP-848)"],
    "a strategy that KIP-848 leaves to the broker" =>
      [{"group.protocol": "consumer", "partition.assignment.strategy": "range"},
        "partition.assignment.strategy can't be set with group.protocol consumer (KIP-848)"],
    "limits that don't fit each other" =>
      [{"max.poll.interval.ms": 10_000, "session.timeout.ms": 20_000}, "max.poll.interval.ms must be >= session.timeout.ms"],
    "a file for SSL that is missing" =>
      [{"ssl.key.location": "/nowhere/key.pem"}, "ssl.key.location names the file /nowhere/key.pem, which doesn't exist"],
    "a key that can't be read, maybe because of its password" =>
      [{"security.protocol": "ssl", "ssl.key.location": __FILE__},
        "PEM, and that ssl.key.password is its password"],
    "a misspelt property of producers" =>
      [{"linger.mss": 5}, "linger.mss is not a property of librdkafka. Did you mean linger.ms?"],
    "a property of producers with a wrong value" =>
      [{"compression.type": "rar"}, 'compression.type is refused by librdkafka: Invalid value "rar"'],
    "something only a program can set" => [{error_cb: "x"}, "error_cb is refused by librdkafka"]
  }.freeze

  # Name => options inside of `topic(:a) { consumer C; … }`, and the reported message.
  OPTIONS = {
    "an option that doesn't exist" => [-> { manual_offset_managment true }, "Did you mean manual_offset_management?"],
    "a topic inside of a topic" => [-> { topic(:b) }, "topic belongs outside of a topic's block"],
    "an option of an option that doesn't exist" =>
      [-> { pause(timout: 5) }, "pause has no option timout. Did you mean timeout?"],
    "an option of an option that doesn't exist, near to its other name" =>
      [-> { virtual_partitions(partitoner: :key) }, "virtual_partitions has no option partitoner. Did you mean partitioner?"],
    "a topic's number of partitions under another name" =>
      [-> { config(partition: 3) },
        "config has no option partition, and Kafka has no such topic property. Did you mean partitions?"],
    "a topic's property that is misspelt" =>
      [-> { config("retention.mss": 3) },
        "config has no option retention.mss, and Kafka has no such topic property. Did you mean retention.ms?"],
    "a topic's property that is none" =>
      [-> { config(tags: "x") },
        "config has no option tags, and Kafka has no such topic property. Topic properties contain dots"],
    "a wrong kind of value" => [-> { max_messages "5" }, 'max_messages must be an Integer of at least 1, is "5"'],
    "a value too few" => [-> { max_messages }, "max_messages is missing. It must be an Integer"],
    "a value too many" => [-> { max_messages 1, 2 }, "max_messages takes one argument, not 2"],
    "the same option twice" => [-> { [max_messages(1), max_messages(2)] }, "max_messages is set twice"],
    "properties of its own without servers" =>
      [-> { kafka("fetch.min.bytes": 2) }, "routes: a, consumer_group app, kafka: bootstrap.servers is missing"],
    "a misspelt property of a topic" =>
      [-> { kafka({"fetch.min.byte": 2}, inherit: true) },
        "routes: a, consumer_group app, kafka: fetch.min.byte is not a property of librdkafka"],
    "eofed without the ends" =>
      [-> { [eofed, kafka({"enable.partition.eof": false}, inherit: true)] }, "eofed needs enable.partition.eof"],
    "a first wait of a topic longer than its longest" =>
      [-> { pause(timeout: 40_000) }, "pause timeout (40000) is above its max_timeout (30000)"],
    "a partitioner that takes nothing" =>
      [-> { parallel by: -> { 1 } },
        "parallel by: is called with the message, but takes no arguments. Write ->(message) { … }, or an object with " \
        "call(message)"],
    "a reducer that takes two" =>
      [-> { parallel by: :key, distribution: :consistent, reducer: ->(key, count) { key % count } },
        "parallel reducer: is called with the key, but takes 2 arguments"],
    "a filter's block that takes two" =>
      [-> { filter(&->(message, offset) { message && offset }) },
        "filter's block is called with the message, but takes 2 arguments"],
    "a filter's block that requires a keyword" =>
      [-> { filter { |message, offset:| message && offset } },
        "filter's block is called with the message, but requires the keyword offset:"],
    "a back-off's block that requires a keyword" =>
      [-> { backoff_for(IOError) { |error, attempt:| [error, attempt] } },
        "backoff_for's block is called with the error and the attempt, but requires the keyword attempt:"],
    "a deserializer of offset metadata that takes nothing" =>
      [-> { offset_metadata deserializer: -> { 1 } },
        "offset_metadata deserializer: is called with the metadata, but takes no arguments. Write ->(metadata) { … }"],
    "an outage's error that is a class of something else" =>
      [-> { breaker outage_errors: [IOError, String] },
        "breaker outage_errors: must be an Array of exception classes, or of their names, is [IOError, String]"],
    "an outage's error that names a module" =>
      [-> { breaker outage_errors: ["Nowhere::Down", "Comparable"] },
        'breaker outage_errors: must be an Array of exception classes, or of their names, is ["Nowhere::Down", "Comparable"]'],
    "a filter's factory that takes a message" =>
      [-> { filter ->(message) { message } },
        "filter's factory is called with the topic and the partition, but takes one argument. Write ->(topic, partition) " \
        "{ … }, or an object with call(topic, partition). To decide for each message write filter { |message| … }"],
    "a strategy that takes one" =>
      [-> { dead_letter_queue topic: "dead", strategy: Class.new { def call(error) = error }.new },
        "dead_letter_queue strategy: is called with the errors and the attempt, but takes one argument"],
    "a back-off that requires a keyword" =>
      [-> { backoff_for(IOError, with: ->(error, attempt:) { [error, attempt] }) },
        "backoff_for's block is called with the error and the attempt, but requires the keyword attempt:"],
    "deserializers that can't be called" =>
      [-> { deserializer "json" }, "deserializer must be an object with the method call"]
  }.freeze

  ROUTES = {
    "a topic without a consumer" => [-> { topic(:a) }, "topic a, consumer_group app: has no consumer"],
    "a consumer that is a name" =>
      [-> { topic(:a) { consumer "OrdersConsumer" } }, "consumer must be a class with a method `consume`"],
    "a consumer that can't consume" =>
      [-> { topic(:a) { consumer String } }, "String isn't a consumer: it inherits from Object. Write `class String < Penstock::BaseConsumer`"],
    "a consumer that inherits only the method that raises" =>
      [-> { topic(:a) { consumer Bare } }, "MistakesTest::Bare has no method `consume`. Define it"],
    "a consumer whose method has another framework's name" =>
      [-> { topic(:a) { consumer Performing } },
        "MistakesTest::Performing has no method `consume`. Rename `perform` to `consume`: it takes no argument, the records " \
        "are in `messages`"],
    "a consumer whose method is misspelt" =>
      [-> { topic(:a) { consumer Misspelt } }, "Rename `conusme` to `consume`"],
    "a consumer whose method is private" =>
      [-> { topic(:a) { consumer Secretive } },
        "`consume` of MistakesTest::Secretive is private. Move it above `private`: it is called by Penstock"],
    "a consumer whose method takes a message" =>
      [-> { topic(:a) { consumer Taking } },
        "`consume` of MistakesTest::Taking takes one argument, but it is called without arguments. Write `def consume` and " \
        "read the records from `messages`: messages.each { |message| … }"],
    "a consumer whose method requires a keyword" =>
      [-> { topic(:a) { consumer TakingKeyword } },
        "`consume` of MistakesTest::TakingKeyword requires the keyword batch:, but it is called without arguments"],
    "an option outside of a topic" => [-> { max_messages 5 }, "max_messages belongs inside of a topic's block"],
    "a topic with two consumers" =>
      [-> { [C, D].each { |type| topic(:a) { consumer type } } }, "is routed 2 times in this group"],
    "a name with a space" => [-> { topic("a b") { consumer C } }, '"a b" is not a valid name'],
    "a name that is only dots" => [-> { topic("..") { consumer C } }, '".." is not a valid name'],
    "a name with dots and underscores" =>
      [-> { topic("a.b_c") { consumer C } }, "its name mixes dots and underscores"],
    "two names that metrics take for one" =>
      [-> { %w[a.b a_b].each { |name| topic(name) { consumer C } } }, "topics a.b and a_b, consumer_group app: differ"],
    "a subscription group without topics" =>
      [-> { consumer_group(:g) { [topic(:a) { active false }, subscription_group(:empty) {}] } },
        "routes: subscription_group empty, consumer_group g: has no topic. Add one or remove the group"],
    "a group without topics" => [-> { consumer_group(:empty) {} }, "consumer_group empty: has no topic"],
    "a subscription group without a name" =>
      [-> { subscription_group(nil) { topic(:a) { consumer C } } }, "subscription_group nil: a name is missing"],
    "a pattern that not every engine knows" =>
      [-> { pattern(/audit\.\d+/) { consumer C } }, "uses syntax that not every engine supports: \\d: write [0-9]"],
    "a pattern that is text" => [-> { pattern("audit.*") { consumer C } }, "pattern needs a regular expression"]
  }.freeze

  Bare = Class.new(Penstock::BaseConsumer)
  Performing = Class.new(Penstock::BaseConsumer) { def perform(message) = message }
  Misspelt = Class.new(Penstock::BaseConsumer) { def conusme = nil }
  Secretive = Class.new(Bare) do
    private

    def consume = nil
  end
  Taking = Class.new(Bare) { def consume(message) = message }
  TakingKeyword = Class.new(Bare) { def consume(batch:) = batch }
  Optional = Class.new(Bare) { def consume(limit = 5, *rest, **more) = [limit, rest, more] }

  C = RoutesSupport::Consumer
  D = RoutesSupport::OtherConsumer

  SETUP.each do |name, (setup, told)|
    test "#{name} is reported" do
      assert_includes_once told, problems(settings(&setup)) { topic(:orders) { consumer C } }
    end
  end

  KAFKA_MISTAKES.each do |name, (properties, told)|
    test "#{name} is reported" do
      assert_includes_once told, problems(settings(kafka: {**KAFKA, **properties})) { topic(:orders) { consumer C } }
    end
  end

  OPTIONS.each do |name, (options, told)|
    test "#{name} is reported" do
      found = problems do
        topic(:a) do
          consumer C
          instance_exec(&options)
        end
      end
      assert_includes_once told, found
    end
  end

  ROUTES.each do |name, (drawing, told)|
    test "#{name} is reported" do
      assert_includes_once told, problems(&drawing)
    end
  end

  test "an application without mistakes has no problems" do
    assert_empty(problems { topic(:orders) { consumer C } })
    assert_empty(problems { topic(:orders) { consumer Optional } })
    assert_empty(problems { topic(:orders) { active false } })
  end

  test "static membership by a name that looks generated is refused with the reason" do
    with = settings { |config| config.static_membership = true }
    %w[shop-5d4f8c7b9-x2x9z 0123456789ab].each do |hostname|
      found = Penstock::Config::Validator.problems(with, nil, hostname: hostname)
      assert_match(/#{hostname}, which looks generated/, found.join)
    end

    assert_empty Penstock::Config::Validator.problems(with, nil, hostname: "shop-0")
  end

  test "messages contain no secret" do
    with = settings(kafka: {**KAFKA, "sasl.password": "hunter2", "ssl.key.password": "hunter2",
                                     "sasl.mechanism": "PLAIN", "security.protocol": "sasl_plain"})

    refute_match(/hunter2/, problems(with) { topic(:orders) { consumer C } }.join)
  end

  private

  def assert_includes_once(told, problems)
    assert_equal 1, problems.count { |problem| problem.include?(told) }, problems.join("\n")
    assert_equal 1, problems.size, problems.join("\n")
  end
end
