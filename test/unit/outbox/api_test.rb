# frozen_string_literal: true

require "test_helper"
require "json"
require "logger"
require "stringio"
require "penstock"
require "penstock/cli"
require "penstock/outbox"
require "penstock/outbox/commands"
require "support/outbox"

# The public methods of the outbox, and its commands, over an SQLite file.
class OutboxApiTest < Penstock::TestCase
  include Penstock::TestSupport::Outbox

  extend Penstock::TestSupport::Outbox::OnSQLite

  def setup
    super
    @dir = Dir.mktmpdir("outbox-cli")
    @application = Penstock::Application.new("shop") { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
    @app = Class.new(Penstock::App)
    application = @application
    @app.define_singleton_method(:application) { application }
    reset
  end

  def teardown
    reset
    Penstock.forget_app(@app)
    FileUtils.remove_entry(@dir)
    super
  end

  test "messages are enqueued, counted, listed, retried and discarded by the module's methods" do
    first, second = ActiveRecord::Base.transaction do
      Penstock::Outbox.enqueue_many([{topic: "orders", key: "a", payload: "1"}, {topic: "orders", key: "b", payload: "2"}])
    end
    @log.answer = ->(_message) { refused }
    Penstock::Outbox.relay { @log }.drain

    assert_equal 2, Penstock::Outbox.lag.parked
    assert_equal [first, second], Penstock::Outbox.rows(:parked).map { |row| row["id"] }
    assert_equal 1, Penstock::Outbox.retry(first)
    assert_equal 1, Penstock::Outbox.discard([second])
    @log.answer = ->(_message) {}
    assert_equal 1, Penstock::Outbox.relay { @log }.drain
  end

  test "a message may be keywords or a Hash; anything else is refused with what it is" do
    message = {topic: "orders", payload: "1"}
    ActiveRecord::Base.transaction do
      assert_kind_of Integer, Penstock::Outbox.enqueue(message)
      assert_kind_of Integer, Penstock::Outbox.enqueue(**message)
      assert_equal [], Penstock::Outbox.enqueue_many([])

      {[:enqueue, nil] => "must be a Hash, is NilClass", [:enqueue, [message]] => "must be a Hash, is Array",
       [:enqueue_many, nil] => "not as NilClass", [:enqueue_many, message] => "not as Hash",
       [:enqueue_many, [message, 1]] => "message 1 of the list: must be a Hash, is Integer"}.each do |(name, value), text|
        error = assert_raises(Penstock::MessageInvalidError) { Penstock::Outbox.public_send(name, value) }
        assert_includes error.message, text
      end
    end
  end

  test "a payload that is too large is refused with the class that the producer's error has" do
    Penstock::Outbox.setup { |config| config.max_payload_size = 3 }
    small, large = %w[123 1234].map { |payload| {topic: "orders", payload: payload} }
    ActiveRecord::Base.transaction do
      assert_kind_of Integer, Penstock::Outbox.enqueue(small)
      error = assert_raises(Penstock::MessageTooLargeError) { Penstock::Outbox.enqueue_many([small, large]) }
      assert_includes error.message, "message 1 of the list"
      assert_instance_of Penstock::MessageInvalidError,
        assert_raises(Penstock::MessageInvalidError) { Penstock::Outbox.enqueue(topic: "a b", payload: "1") }
    end
  end

  test "a missing table is reported with what to do" do
    Penstock::Outbox.setup { |config| config.table = "nowhere" }
    [-> { ActiveRecord::Base.transaction { Penstock::Outbox.enqueue(topic: "a", payload: "1") } },
      -> { Penstock::Outbox.lag }].each do |call|
      error = assert_raises(Penstock::ConfigurationError, &call)
      assert_includes error.message, "table nowhere"
      assert_includes error.message, "penstock outbox install"
    end
  end

  test "the class must be one of Active Record's that has a connection" do
    Object.const_set(:OutboxTestOrder, Class.new(ActiveRecord::Base))
    {"Nowhere" => "no class Nowhere", "OutboxTestOrder" => "abstract"}.each do |name, text|
      Penstock::Outbox.setup { |config| config.record = name }
      error = assert_raises(Penstock::ConfigurationError) { Penstock::Outbox.lag }
      assert_includes error.message, text
    end
  ensure
    Object.send(:remove_const, :OutboxTestOrder)
  end

  test "what the application's class adds to queries and rows doesn't affect the outbox" do
    Object.const_set(:OutboxTestRecord, Class.new(ActiveRecord::Base) do
      self.abstract_class = true
      default_scope { where("1 = 0") }
      before_create { raise "called" }
    end)
    Penstock::Outbox.setup { |config| config.record = "OutboxTestRecord" }
    ActiveRecord::Base.transaction { Penstock::Outbox.enqueue(topic: "a", payload: "1") }

    assert_equal 1, Penstock::Outbox.relay { @log }.drain
  ensure
    Object.send(:remove_const, :OutboxTestRecord)
  end

  def without_active_record
    Penstock::Outbox::Database.new(Penstock::Outbox.config).tap do |database|
      database.define_singleton_method(:require) do |name|
        raise LoadError.new("cannot load such file -- #{name}").tap { |error| error.instance_variable_set(:@path, name) }
      end
    end
  end

  test "without Active Record the error names what is missing, as a mistake of the user" do
    error = assert_raises(LoadError) { without_active_record.model }

    assert_includes error.message, 'gem "activerecord"'
    assert_kind_of Penstock::Error, error
  end

  test "without Active Record, whose error classes don't exist then either, nothing else is tried first" do
    assert_raises(LoadError) { without_active_record.with_table_hint { flunk "went on" } }
  end

  test "the relay's producer has the application's settings, and those that its guarantees need" do
    Penstock::Outbox.setup { |config| config.send_timeout = 7_000 }
    @application.setup do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 99_000, "transactional.id": "shop",
                      "compression.codec": "gzip"}
    end
    producer = Penstock::Outbox.relay.send(:producer)
    kafka = producer.config.kafka

    assert_equal "gzip", kafka[:"compression.codec"]
    assert_equal [true, 7_000, nil], kafka.values_at(:"enable.idempotence", :"message.timeout.ms", :"transactional.id")
    assert_predicate producer, :idempotent?
    refute_predicate producer, :transactional?
  end

  test "settings of the application's producer that favour speed don't prevent the relay's from being created" do
    {acks: 1, "request.required.acks": 0, retries: 0, "message.send.max.retries": 0, "max.in.flight": 100,
     "max.in.flight.requests.per.connection": 100, "queuing.strategy": "lifo"}.each do |name, value|
      @application.setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"}.merge(name => value) }

      assert_predicate Penstock::Outbox.relay.send(:producer), :idempotent?, name
    end
  end

  test "the relay's producer accepts every payload that the outbox or the application's producer accepts" do
    [[2_000_000, 1_000_012], [1_000_012, 3_000_000]].each do |outbox, application|
      Penstock::Outbox.setup { |config| config.max_payload_size = outbox }
      @application.setup { |config| config.producer { |own| own.max_payload_size = application } }

      config = Penstock::Outbox.relay.send(:producer).config
      assert_equal [outbox, application].max, config.max_payload_size
      assert_operator config.kafka[:"message.max.bytes"], :>, config.max_payload_size, "the client counts key and headers, too"
    end
    @application.setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1", "message.max.bytes": 9_000_000} }
    assert_equal 9_000_000, Penstock::Outbox.relay.send(:producer).config.kafka[:"message.max.bytes"]
  end

  test "[outbox status] prints states, age and stuck rows; as JSON too" do
    put("poison", "1")
    @log.answer = ->(_message) { refused }
    Penstock::Outbox.relay { @log }.drain
    text = penstock("outbox", "status")
    json = JSON.parse(penstock("outbox", "status", "--json"))

    assert_match(/parked +1$/, text)
    assert_match(/held +1$/, text)
    assert_match(/parked +orders +k +1 +Penstock::KafkaError: no/, text)
    assert_equal [2, 1, "k"], [json["pending"], json["stuck"].size, json["stuck"].first["message_key"]]
  end

  test "[outbox retry, discard, purge] print how many rows there were" do
    Penstock::Outbox.setup { |config| config.after_delivery = :keep }
    first, second = put("1", key: "a") + put("2", key: "b")
    @log.answer = ->(_message) { refused }
    Penstock::Outbox.relay { @log }.drain

    assert_includes penstock("outbox", "retry", first.to_s, "99999"), "1 of 2 rows"
    assert_includes penstock("outbox", "discard", second.to_s), "1 of 1 rows"
    @log.answer = ->(_message) {}
    Penstock::Outbox.relay { @log }.drain
    @database.rows.update_all(sent_ms: 0)
    assert_includes penstock("outbox", "purge", "--older-than", "60"), "1 rows deleted"
    assert_includes failing("outbox", "retry", "x"), "x is no row id"
    assert_includes failing("outbox", "purge"), "--older-than"
    %w[1e400 -60].each { |text| assert_includes failing("outbox", "purge", "--older-than", text), "at least 0, is" }
  end

  test "[outbox retry, discard, purge, status] report a missing table in one line" do
    Penstock::Outbox.setup { |config| config.table = "nowhere" }
    [%w[retry 1], %w[discard 1], %w[purge --older-than 1], %w[status]].each do |argv|
      error = failing("outbox", *argv)

      assert_includes error, "table nowhere is missing"
      refute_includes error, "store.rb", argv.first
    end
  end

  test "rows are only purged by an age that is a number of seconds from 0" do
    Penstock::Outbox.setup { |config| config.after_delivery = :keep }
    put("1")
    Penstock::Outbox.relay { @log }.drain
    @database.rows.update_all(sent_ms: 0)
    [nil, "abc", "60", -1, -0.5, Float::INFINITY, Float::NAN].each do |value|
      error = assert_raises(ArgumentError) { Penstock::Outbox.purge(older_than: value) }
      assert_includes error.message, "older_than must be a number of seconds, at least 0, is #{value.inspect}"
    end

    assert_equal 1, Penstock::Outbox.purge(older_than: Rational(1, 2))
  end

  test "[outbox install] writes a migration once, for the version that is locked" do
    File.write(File.join(@dir, "Gemfile.lock"), "GEM\n  specs:\n    activerecord (8.0.1)\n      activemodel\n")
    first = penstock("outbox", "install", boot: false)
    second = penstock("outbox", "install", boot: false)
    file, *others = Dir[File.join(@dir, "db/migrate/*.rb")]

    assert_empty others
    assert_match(%r{created: db/migrate/\d{14}_create_penstock_outbox.rb}, first)
    assert_includes second, "unchanged"
    assert_includes File.read(file), "ActiveRecord::Migration[8.0]"
    assert_includes failing("outbox", "install", "--table", "a; b"), "--table"
  end

  private

  def reset = Penstock::Outbox.setup { |_config| nil }

  def penstock(*argv, boot: true)
    run_command(argv, boot) => [code, out, err]
    assert_equal 0, code, err
    out
  end

  def failing(*argv)
    run_command(argv, true) => [code, _out, err]
    assert_equal 1, code
    err
  end

  def run_command(argv, boot)
    File.write(File.join(@dir, "penstock.rb"), "") if boot
    out = StringIO.new
    err = StringIO.new
    context = Penstock::CLI::Context.new(stdin: StringIO.new, stdout: out, stderr: err, env: {}, dir: @dir)
    [Penstock::CLI.start(argv, context), out.string, err.string]
  end
end
