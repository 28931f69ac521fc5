# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock/application"
require "penstock/config/seconds"
require "penstock/consumer/base_consumer"

# Mistakes of a user's first days in settings and routes. Each message is compared as a whole: it names the thing, the place and
# the way out.
class FirstDayConfigurationTest < Penstock::TestCase
  include RoutesSupport

  Base = Penstock::BaseConsumer
  Orders = Class.new(Base) { def consume = nil }
  Misspelt = Class.new(Base) { def consme = nil }
  Performing = Class.new(Base) { def perform = nil }
  WithArgument = Class.new(Base) { def consume(message) = message }
  Empty = Class.new(Base)
  Private = Class.new(Base) do
    private

    def consume = nil
  end
  Plain = Class.new { def consume = nil }
  WithRepository = Class.new(Base) do
    def initialize(repository) = @repository = repository
    def consume = nil
  end

  AT = "routes: topic orders, consumer_group app"
  OPTION = "routes: topic orders"
  NAME = "a name of 1 to 249 letters, digits, dots, dashes and underscores (but not . or ..)"

  # Mistake => setup block and message.
  SETTINGS = {
    "a misspelt setting" => [->(config) { config.concurency = 3 },
      "config.concurency: there is no such setting. Did you mean config.concurrency?"],
    "a number as a String" => [->(config) { config.concurrency = "10" },
      'config.concurrency: must be an Integer of at least 1, is "10". The default is 5'],
    "a fraction of a second" => [->(config) { config.pause.timeout = 1.5 },
      "config.pause.timeout: must be milliseconds, an Integer of at least 1, is 1.5. The default is 1000"],
    "an IO as the logger" => [->(config) { config.logger = :stdout },
      "config.logger: must be an object with the methods debug, info, warn, error, fatal, is :stdout. The default is nil"],
    "a folder for dumps that doesn't exist" => [->(config) { config.flight_recorder_path = "/nonexistent/dumps" },
      'config.flight_recorder_path: must be a folder that exists and can be written to, or nil, is "/nonexistent/dumps". The ' \
      "default is nil"],
    "no client_id" => [->(config) { config.client_id = nil },
      "config.client_id: must be #{NAME}, is nil. The default is \"penstock\""]
  }.freeze

  SETTINGS.each do |mistake, (block, message)|
    test "#{mistake} is refused with its way out" do
      assert_equal [message], problems(settings(&block)) { topic(:orders) { consumer Orders } }
    end
  end

  # Mistake => properties and message.
  KAFKA = {
    "a misspelt property" => [{"bootstrap.server": "127.0.0.1:9092"},
      "config.kafka: bootstrap.server is not a property of librdkafka. Did you mean bootstrap.servers?"],
    "a String as key" => [{"bootstrap.servers" => "127.0.0.1:9092"},
      'config.kafka: the key "bootstrap.servers" is a String, keys must be Symbols. Write "bootstrap.servers": …'],
    "an address from an environment variable that isn't set" => [{"bootstrap.servers": nil},
      "config.kafka: bootstrap.servers is nil, as from an environment variable that isn't set. Write \"host:port\""],
    "an empty address" => [{"bootstrap.servers": " "}, 'config.kafka: bootstrap.servers is empty. Write "host:port"'],
    "an address with http://" => [{"bootstrap.servers": "good:9092,http://kafka:9092"},
      'config.kafka: bootstrap.servers has "http://kafka:9092", which isn\'t an address of a broker. Write "host:port", ' \
      "several separated by commas, with a port up to 65535"],
    "an Array of addresses" => [{"bootstrap.servers": ["kafka:9092"]},
      "config.kafka: bootstrap.servers must be a String, a number or true or false, is a Array. Join the entries by commas"],
    "no address" => [{"fetch.min.bytes": 1}, 'config.kafka: bootstrap.servers is missing. For example "localhost:9092"'],
    "no properties at all" => [{}, 'config.kafka: is empty. It needs at least {"bootstrap.servers": "localhost:9092"}'],
    "a group in the properties" => [{"bootstrap.servers": "kafka:9092", "group.id": "shop"},
      "config.kafka: group.id is set by Penstock: it is the name of the route's consumer_group, or config.group_id. Remove it"],
    "automatic commits by the client" => [{"bootstrap.servers": "kafka:9092", "enable.auto.commit": true},
      "config.kafka: enable.auto.commit can't be true: Penstock commits offsets, so that none is committed before its record " \
      "is complete. Remove it"],
    "a codec that doesn't exist" => [{"bootstrap.servers": "kafka:9092", "compression.codec": "brotli"},
      'config.kafka: compression.codec is refused by librdkafka: Invalid value "brotli" for configuration property ' \
      '"compression.codec". Allowed: none, gzip, snappy, lz4, zstd'],
    "a misspelt security protocol" => [{"bootstrap.servers": "kafka:9092", "security.protocol": "sasl-ssl"},
      'config.kafka: security.protocol is refused by librdkafka: Invalid value "sasl-ssl" for configuration property ' \
      '"security.protocol". Allowed: plaintext, ssl, sasl_plaintext, sasl_ssl'],
    "SASL without a user" => [{"bootstrap.servers": "kafka:9092", "security.protocol": "sasl_plaintext",
                               "sasl.mechanism": "PLAIN"},
      "config.kafka: librdkafka refuses it: sasl.username and sasl.password must be set"],
    "a certificate that isn't there" => [{"bootstrap.servers": "kafka:9092", "ssl.ca.location": "/nonexistent/ca.pem"},
      "config.kafka: ssl.ca.location names the file /nonexistent/ca.pem, which doesn't exist. Give a path that this process " \
      "can read"],
    "a session timeout with KIP-848" => [{"bootstrap.servers": "kafka:9092", "group.protocol": "consumer",
                                          "session.timeout.ms": 6_000},
      "config.kafka: session.timeout.ms can't be set with group.protocol consumer (KIP-848): the broker sets it. Remove it, " \
      "or set it on the broker for the group"],
    "a partitioner that doesn't exist" => [{"bootstrap.servers": "kafka:9092", partitioner: "mine"},
      'config.kafka: partitioner is refused by librdkafka: Invalid value for configuration property "partitioner": mine. ' \
      "Allowed: random, consistent, consistent_random, murmur2, murmur2_random, fnv1a, fnv1a_random"],
    "a time with a unit" => [{"bootstrap.servers": "kafka:9092", "session.timeout.ms": "10s"},
      'config.kafka: session.timeout.ms must be an Integer (milliseconds), is "10s". Write 10_000'],
    "a fraction where an Integer is needed" => [{"bootstrap.servers": "kafka:9092", "session.timeout.ms": 6_000.0},
      "config.kafka: session.timeout.ms must be an Integer (milliseconds), is 6000.0. Write 6_000"],
    "a value out of range" => [{"bootstrap.servers": "kafka:9092", "fetch.wait.max.ms": -5},
      'config.kafka: fetch.wait.max.ms is refused by librdkafka: Configuration property "fetch.wait.max.ms" value -5 is ' \
      "outside allowed range 0..300000"],
    "times that don't fit each other" => [
      {"bootstrap.servers": "kafka:9092", "max.poll.interval.ms": 3_000, "session.timeout.ms": 6_000},
      "config.kafka: max.poll.interval.ms is refused by librdkafka: max.poll.interval.ms must be >= " \
      "session.timeout.ms"
    ],
    "acks that don't exist" => [{"bootstrap.servers": "kafka:9092", acks: "al"},
      'config.kafka: acks must be "all" or an Integer, is "al". Write "all"'],
    "SASL without a mechanism" => [{"bootstrap.servers": "kafka:9092", "security.protocol": "sasl_plaintext"},
      "config.kafka: security.protocol sasl_plaintext needs sasl.mechanism, which is missing. Write \"sasl.mechanism\": " \
      "\"PLAIN\", \"SCRAM-SHA-256\", \"SCRAM-SHA-512\", \"OAUTHBEARER\" or \"GSSAPI\" (Kerberos)"],
    "a password from an environment variable that isn't set" => [
      {"bootstrap.servers": "kafka:9092", "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN",
       "sasl.username": "alice", "sasl.password": nil},
      "config.kafka: sasl.password is nil, as from an environment variable that isn't set. Set the environment variable"
    ],
    "a port that can't exist" => [{"bootstrap.servers": "kafka:9092,kafka:99999"},
      'config.kafka: bootstrap.servers has "kafka:99999", which isn\'t an address of a broker. Write "host:port", several ' \
      "separated by commas, with a port up to 65535"],
    "a limit that only Java's consumers know" => [{"bootstrap.servers": "kafka:9092", "max.poll.records": 100},
      "config.kafka: max.poll.records has no effect on members of consumer groups: in librdkafka it limits share consumers. " \
      "Remove it, and set max_messages: in a route, or config.max_messages for all"]
  }.freeze

  KAFKA.each do |mistake, (properties, message)|
    test "#{mistake} is refused with its way out" do
      assert_equal [message], problems(settings(kafka: properties)) { topic(:orders) { consumer Orders } }
    end
  end

  test "a missing address is reported once, also with delay_topics and with a route that adds properties" do
    {{} => "is empty", {"fetch.min.bytes": 1} => "bootstrap.servers is missing"}.each do |properties, message|
      application = Penstock::Application.new("first") { |config| config.kafka = properties }
      application.routing.draw do
        delay_topics
        topic(:orders) { consumer Orders }
        topic(:clicks) { [consumer(Orders), kafka("fetch.max.bytes": 2_000_000, inherit: true)] } if properties.any?
      end
      error = assert_raises(Penstock::ConfigurationError) { application.validate! }
      assert_equal 1, error.problems.size, error.message
      assert_includes error.message, "config.kafka: #{message}"
    end
  end

  test "addresses of every form are accepted" do
    ["kafka", "kafka:9092", "10.0.0.7:9092, 10.0.0.8:9092", "[::1]:9092", "SASL_SSL://kafka:9092"].each do |address|
      assert_empty problems(settings(kafka: {"bootstrap.servers": address})) { topic(:orders) { consumer Orders } }
    end
  end

  test "numbers may be Strings, and Kerberos needs no mechanism" do
    [{"session.timeout.ms": "10000"}, {"linger.ms": "0.5"}, {acks: "all"}, {acks: :all},
      {"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI", "sasl.kerberos.kinit.cmd": "true"},
      {"security.protocol": "sasl_plaintext", "sasl.kerberos.kinit.cmd": "true"}].each do |properties|
      assert_empty problems(settings(kafka: {"bootstrap.servers": "kafka:9092", **properties})) {
        topic(:orders) { consumer Orders }
      }
    end
  end

  # Mistake => the topic's block and message.
  TOPIC = {
    "a consumer with a misspelt consume" => [-> { consumer Misspelt },
      "#{AT}: FirstDayConfigurationTest::Misspelt has no method `consume`. Rename `consme` to `consume`: it takes no argument, " \
      "the records are in `messages`"],
    "a consumer with another framework's method" => [-> { consumer Performing },
      "#{AT}: FirstDayConfigurationTest::Performing has no method `consume`. Rename `perform` to `consume`: it takes no " \
      "argument, the records are in `messages`"],
    "a consumer without a method" => [-> { consumer Empty },
      "#{AT}: FirstDayConfigurationTest::Empty has no method `consume`. Define it: def consume = messages.each { |message| … }"],
    "a consumer whose consume takes a message" => [-> { consumer WithArgument },
      "#{AT}: `consume` of FirstDayConfigurationTest::WithArgument takes one argument, but it is called without arguments. " \
      "Write `def consume` and read the records from `messages`: messages.each { |message| … }"],
    "a consumer with a private consume" => [-> { consumer Private },
      "#{AT}: `consume` of FirstDayConfigurationTest::Private is private. Move it above `private`: it is called by Penstock"],
    "a class that isn't a consumer" => [-> { consumer Plain },
      "#{AT}: FirstDayConfigurationTest::Plain isn't a consumer: it inherits from Object. Write `class " \
      "FirstDayConfigurationTest::Plain < Penstock::BaseConsumer`"],
    "a consumer whose initialize takes an argument" => [-> { consumer WithRepository },
      "#{AT}: `initialize` of FirstDayConfigurationTest::WithRepository takes one argument, but Penstock creates consumers " \
      "with `FirstDayConfigurationTest::WithRepository.new`. Remove the arguments; set up what the consumer needs in a method " \
      "`initialized`, or on first use"],
    "a consumer given by its name" => [-> { consumer "OrdersConsumer" },
      "#{OPTION}: consumer must be a class with a method `consume`, such as a subclass of Penstock::BaseConsumer, is " \
      '"OrdersConsumer"'],
    "a misspelt option" => [lambda {
      consumer Orders
      paralel by: :key
    }, "#{OPTION}: there is no option paralel. Did you mean parallel?"],
    "a misspelt keyword" => [lambda {
      consumer Orders
      dead_letter_queue topic: "dead", max_retry: 1
    }, "#{OPTION}: dead_letter_queue has no option max_retry. Did you mean max_retries?"],
    "dead letters to the topic itself" => [lambda {
      consumer Orders
      dead_letter_queue topic: "orders"
    }, "#{AT}: is its own dead letter topic. Name another one"],
    "dead letters without a topic" => [lambda {
      consumer Orders
      dead_letter_queue max_retries: 2
    }, "#{OPTION}: dead_letter_queue topic: is missing. It must be #{NAME}, or false (skips), or :strategy, or nil (none)"],
    "negative retries" => [lambda {
      consumer Orders
      dead_letter_queue topic: "dead", max_retries: -1
    }, "#{OPTION}: dead_letter_queue max_retries: must be an Integer of at least 0, is -1"],
    "a time limit with a unit" => [lambda {
      consumer Orders
      time_limit "5s"
    }, "#{OPTION}: time_limit must be milliseconds, an Integer of at least 100, is \"5s\""],
    "a place to begin that doesn't exist" => [lambda {
      consumer Orders
      initial_offset "begin"
    }, "#{OPTION}: initial_offset must be \"earliest\" or \"latest\", is \"begin\""],
    "a partitioner with two arguments" => [lambda {
      consumer Orders
      parallel by: ->(message, key) { [message, key] }
    }, "#{AT}: parallel by: is called with the message, but takes 2 arguments. Write ->(message) { … }, or an object with " \
       "call(message)"],
    "properties that replace the application's" => [lambda {
      consumer Orders
      kafka("fetch.min.bytes": 1)
    }, "routes: orders, consumer_group app, kafka: bootstrap.servers is missing. For example \"localhost:9092\", or " \
       "`inherit: true` to add these properties to the application's"]
  }.freeze

  TOPIC.each do |mistake, (options, message)|
    test "#{mistake} is refused with its way out" do
      assert_equal([message], problems { topic(:orders) { instance_exec(&options) } })
    end
  end

  # Mistake => drawing and message.
  ROUTES = {
    "a topic without a consumer" => [-> { topic(:orders) },
      "#{AT}: has no consumer. Add `consumer YourConsumer`, or `active false` if it is only declared, for administration"],
    "a consumer as the second argument of topic" => [-> { topic(:orders, Orders) },
      "routes: top level: topic takes a name and a block, is called with 2 arguments. Write topic(:orders) { consumer " \
      "YourConsumer }"],
    "a consumer outside of a topic" => [lambda {
      topic(:orders) { consumer Orders }
      consumer Orders
    }, "routes: top level: there is no option consumer. consumer belongs inside of a topic's block"],
    "a name with a space" => [-> { topic("orders received") { consumer Orders } },
      "routes: topic \"orders received\": \"orders received\" is not a valid name. It must be #{NAME}"],
    "an empty group" => [lambda {
      topic(:orders) { consumer Orders }
      consumer_group(:shop) { nil }
    }, "routes: consumer_group shop: has no topic. Add one or remove the group"]
  }.freeze

  ROUTES.each do |mistake, (drawing, message)|
    test "#{mistake} is refused with its way out" do
      assert_equal [message], problems(&drawing)
    end
  end

  test "an option outside of a topic has its line" do
    application = Penstock::Application.new("first") { |config| config.kafka = {"bootstrap.servers": "kafka:9092"} }
    line = __LINE__ + 1
    application.routing.draw { topc(:orders) { consumer Orders } }
    error = assert_raises(Penstock::ConfigurationError) { application.validate! }

    assert_includes error.message,
      "routes: top level (configuration_test.rb:#{line}): there is no option topc. Did you mean topic?"
  end

  test "a topic that is drawn twice is refused with both places" do
    drawn = routes do
      topic(:orders) { consumer Orders }
      topic(:orders) { consumer Orders }
    end
    line = __LINE__ - 3

    assert_equal ["#{AT} (configuration_test.rb:#{line}): is routed 2 times in this group (configuration_test.rb:#{line} and " \
      "configuration_test.rb:#{line + 1}). Keep one, or put the other into its own consumer_group"],
      Penstock::Config::Validator.problems(settings, drawn).map(&:to_s)
  end

  test "durations that look like seconds are named, each with the value that was probably meant" do
    with = settings(kafka: {**RoutesSupport::KAFKA, "session.timeout.ms": 45}) { |config| config.shutdown_timeout = 30 }

    assert_equal ["config.shutdown_timeout is 30 ms: durations are in milliseconds. Write 30_000 if you mean 30 seconds",
      "config.kafka: session.timeout.ms is 45 ms: durations are in milliseconds. Write 45_000 if you mean 45 seconds"],
      Penstock::Config::Seconds.warnings(with)
    assert_empty Penstock::Config::Seconds.warnings(settings)
  end

  test "an application without routes, and one whose routes are all inactive, have nothing to consume" do
    assert_equal "routes: there is no topic. Write routes.draw { topic(:orders) { consumer OrdersConsumer } }",
      routes { nil }.nothing_to_consume.to_s
    assert_equal "routes: No topics to subscribe to. Every routed topic is filtered out or not active: orders. Change the " \
      "options --include-… and --exclude-… of this process, or remove `active false` from a topic",
      routes { topic(:orders) { active false } }.nothing_to_consume.to_s
  end
end
