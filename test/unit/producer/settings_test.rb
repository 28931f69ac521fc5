# frozen_string_literal: true

require "test_helper"
require "stringio"
require "penstock/producer"
require "penstock/producer/settings"

class ProducerSettingsTest < Penstock::TestCase
  KAFKA = {"bootstrap.servers": "127.0.0.1:1"}.freeze

  def settings(kafka: KAFKA)
    Penstock::Producer::Settings.new.tap do |config|
      config.kafka = kafka
      yield config if block_given?
    end
  end

  def finished(**options, &block)
    settings(**options, &block).finish!
  end

  def problems(**options, &block)
    assert_raises(Penstock::ConfigurationError) { finished(**options, &block) }.problems
  end

  def paths(**options, &block)
    problems(**options, &block).map(&:path)
  end

  test "unknown settings are reported with all other problems, each with the nearest name or an alternative" do
    found = problems do |config|
      config.id = "a b"
      config.max_payload_sise = 5
      config.polling.mode = :fd
      config.polling.fd.setup { |fd| fd.max_time = 5 }
      config.statistics_decorator = Object.new
      config.zzz = 1
      config.middlware.append(->(message) { message })
      config.kafak[:"linger.ms"] = 5
    end.map(&:to_s)

    assert_match(/\Aconfig.id: must be a name/, found.shift)
    assert_equal ["config.max_payload_sise: a producer has no such setting. Did you mean max_payload_size?",
      "config.polling.mode: a producer has no such setting. Remove it: a thread in C polls each producer",
      "config.polling.fd.max_time: a producer has no such setting. Remove it: a thread in C polls each producer",
      "config.statistics_decorator: a producer has no such setting. Remove it: statistics have `_d` and `_fd` for every number",
      "config.zzz: a producer has no such setting. docs/producing.md lists all settings",
      "config.middlware: a producer has no such setting. Did you mean middleware?",
      "config.kafak: a producer has no such setting. Did you mean kafka?"], found
    assert_raises(NoMethodError) { finished.nobody }
  end

  test "all defaults are correct" do
    config = finished

    assert_match(/\Apenstock-\h{6}\z/, config.id)
    assert_equal [1_000_012, 180_000, true, 100, 10_000, true, true],
      [config.max_payload_size, config.max_wait_timeout, config.wait_on_queue_full, config.wait_backoff_on_queue_full,
        config.wait_timeout_on_queue_full, config.instrument_on_wait_queue_full, config.deliver]
    assert_equal Logger::WARN, config.logger.level
    assert_predicate config.middleware, :empty?
    assert_equal false, config.oauth.token_provider_listener
  end

  test "all defaults of transactions are correct" do
    config = finished

    assert_equal [500, 5, true, 1_000, 10, [:fenced], 5_000],
      [config.wait_backoff_on_transaction_command, config.max_attempts_on_transaction_command,
        config.reload_on_transaction_fatal_error, config.wait_backoff_on_transaction_fatal_error,
        config.max_attempts_on_transaction_fatal_error, config.non_reloadable_errors, config.wait_timeout_on_transaction_abort]
    assert_equal ["config.non_reloadable_errors"], paths { |wrong| wrong.non_reloadable_errors = ["fenced"] }
  end

  test "a copy with other properties is frozen too, and doesn't change the first" do
    config = finished
    copy = config.with_kafka({**config.kafka, "client.id": "other"})

    assert_equal %w[penstock other], [config, copy].map { |each| each.kafka[:"client.id"] }
    assert_equal [true, true, config.id], [copy.frozen?, copy.kafka.frozen?, copy.id]
  end

  test "[Frozen kafka hash] a frozen Hash is accepted and isn't changed" do
    kafka = KAFKA.dup.freeze
    config = finished(kafka: kafka)

    assert_equal 1, kafka.size
    assert_equal Penstock::Producer::Properties::DEFAULTS.size + 2, config.kafka.size # bootstrap.servers, enable.idempotence
    assert_predicate config.kafka, :frozen?
    assert_predicate config, :frozen?
  end

  test "[String kafka key] a key that is a String is named in the error" do
    problem = problems(kafka: {"bootstrap.servers" => "127.0.0.1:1"}).first

    assert_includes problem.message, '"bootstrap.servers"'
    assert_includes problem.hint, ':"bootstrap.servers"'
  end

  test "[Kafka defaults] five defaults are there, and the user's value wins" do
    expected = {"client.id": "penstock", "statistics.interval.ms": 5_000, "message.timeout.ms": 150_000,
                "transaction.timeout.ms": 165_000, "socket.nagle.disable": true}

    assert_equal expected, finished.kafka.slice(*expected.keys)
    own = finished(kafka: KAFKA.merge("client.id": "mine", "socket.nagle.disable": false)).kafka
    assert_equal ["mine", false], own.values_at(:"client.id", :"socket.nagle.disable")
  end

  test "a default doesn't override an alias of its property" do
    config = finished(kafka: KAFKA.merge("delivery.timeout.ms": 20_000))

    refute_includes config.kafka.keys, :"message.timeout.ms"
    assert_equal "20000", config.native_properties(statistics: true)["delivery.timeout.ms"]
  end

  test "[Timeout order check] a message timeout that isn't below the wait timeout logs a warning" do
    log = StringIO.new
    finished(kafka: KAFKA.merge("message.timeout.ms": 180_000)) { |config| config.logger = Logger.new(log) }
    assert_includes log.string, "message.timeout.ms (180000)"

    log = StringIO.new
    finished { |config| config.logger = Logger.new(log) }
    assert_empty log.string
  end

  test "all problems are reported at once" do
    found = paths(kafka: KAFKA.merge("lingr.ms": 5, acks: "many")) do |config|
      config.id = "no spaces please"
      config.max_payload_size = 0
      config.max_wait_timeout = "soon"
      config.wait_on_queue_full = 1
      config.logger = nil
      config.monitor = Object.new
      config.middleware = []
      config.oauth.token_provider_listener = Object.new
    end

    assert_equal %w[config.id config.logger config.max_payload_size config.max_wait_timeout config.middleware
      config.monitor config.oauth.token_provider_listener config.kafka.acks config.kafka.lingr.ms
      config.wait_on_queue_full].sort, found.sort
  end

  test "an unknown property gets the nearest name" do
    assert_equal "Did you mean linger.ms?", problems(kafka: KAFKA.merge("lingr.ms": 5)).first.hint
  end

  test "a missing kafka Hash, another type and a missing broker give different errors" do
    assert_equal ["config.kafka"], paths(kafka: {})
    assert_equal ["config.kafka"], paths(kafka: "127.0.0.1:9092")
    assert_equal ["config.kafka.bootstrap.servers"], paths(kafka: {acks: "all"})
  end

  test "a producer is idempotent unless one of the user's settings rules it out" do
    idempotence = ->(**kafka) { finished(kafka: KAFKA.merge(kafka)).native_properties(statistics: false)["enable.idempotence"] }

    [{}, {acks: "all"}, {acks: -1}, {acks: nil}, {"request.required.acks": "-1"}, {"max.in.flight": 5}, {retries: 3},
      {"queuing.strategy": "fifo"}].each { |kafka| assert_equal "true", idempotence.call(**kafka), kafka }
    [{acks: 1}, {acks: "0"}, {"request.required.acks": 1}, {"max.in.flight": 6}, {"message.send.max.retries": 0}, {retries: "0"},
      {"max.in.flight.requests.per.connection": 1_000}, {"queuing.strategy": "lifo"}, {"enable.idempotence": false}]
      .each { |kafka| assert_equal "false", idempotence.call(**kafka), kafka }
  end

  test "a short transaction timeout shortens the socket timeout, unless the user sets both" do
    answer = ->(**kafka) { finished(kafka: KAFKA.merge(kafka)).native_properties(statistics: false)["socket.timeout.ms"] }

    assert_equal "30000", answer.call
    assert_equal "15000", answer.call("transaction.timeout.ms": 15_000)
    assert_equal "9000", answer.call("transaction.timeout.ms": 15_000, "socket.timeout.ms": 9_000)
  end

  test "properties that contradict each other are a problem too" do
    refute_empty problems(kafka: KAFKA.merge("enable.idempotence": true, acks: 1))
  end

  test "consumer properties are left out; lists and other values become Strings" do
    native = finished(kafka: KAFKA.merge("group.id": "g", "auto.offset.reset": "earliest", debug: %w[msg eos], acks: nil))
      .native_properties(statistics: true)

    refute_includes native, "group.id"
    refute_includes native, "auto.offset.reset"
    refute_includes native, "acks"
    assert_equal "msg,eos", native["debug"]
    assert_equal "true", native["socket.nagle.disable"]
    assert(native.all? { |name, value| name.is_a?(String) && value.is_a?(String) })
  end

  test "statistics are off for a producer without a listener for them" do
    assert_equal "0", finished.native_properties(statistics: false)["statistics.interval.ms"]
    assert_equal "5000", finished.native_properties(statistics: true)["statistics.interval.ms"]
  end

  test "inspect contains no secrets" do
    refute_includes finished(kafka: KAFKA.merge("sasl.password": "canary")).inspect, "canary"
  end
end
