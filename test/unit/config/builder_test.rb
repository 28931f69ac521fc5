# frozen_string_literal: true

require "test_helper"
require "pp"
require "penstock/config/builder"

class ConfigBuilderTest < Penstock::TestCase
  Builder = Penstock::Config::Builder
  Schema = Penstock::Config::Schema

  def setup
    @builder = Builder.new(environment: Penstock::Config::Environment.new("test"))
  end

  test "settings that aren't set have their defaults" do
    settings = @builder.settings

    assert_equal ["penstock", "app", 5, -1, 100, 60_000, "earliest", true],
      [settings.client_id, settings.group_id, settings.concurrency, settings.worker_thread_priority, settings.max_messages,
        settings.shutdown_timeout, settings.initial_offset, settings.consumer_persistence]
    assert_equal [1_000, 30_000, true], settings.pause.to_a
    assert_equal 64 * 1024 * 1024, settings.prefetch_budget_bytes
    assert_empty settings.problems
  end

  test "the result and its values are frozen" do
    @builder.record { |config| config.kafka = {"client.id": "a"} }
    settings = @builder.settings

    assert_predicate settings, :frozen?
    assert_predicate settings.kafka, :frozen?
    assert_predicate settings.pause, :frozen?
  end

  test "[Frozen kafka hash] setup works, hash unchanged" do
    mine = {"bootstrap.servers": "a:1"}.freeze
    @builder.record { |config| config.kafka = mine }

    assert_equal mine, @builder.settings.kafka
    assert_equal({"bootstrap.servers": "a:1"}, mine)
  end

  test "several setups are merged, later values win" do
    @builder.record { |config| config.client_id = "a" }
    @builder.record { |config| config.client_id = "b" }
    @builder.record { |config| config.kafka[:"bootstrap.servers"] = "x:1" }

    assert_equal "b", @builder.settings.client_id
    assert_equal({"bootstrap.servers": "x:1"}, @builder.settings.kafka)
  end

  test "setup may be called without a block" do
    assert_equal "penstock", @builder.record.settings.client_id
  end

  test "flat names of nested settings are the same settings" do
    @builder.record do |config|
      config.pause_timeout = 5
      config.pause.max_timeout = 50
    end
    settings = @builder.settings

    assert_equal [5, 50], [settings.pause.timeout, settings.pause_max_timeout]
    assert_equal 5, settings.pause_timeout
  end

  test "a setting can be read within setup" do
    seen = nil
    @builder.record do |config|
      seen = [config.client_id, config.pause.timeout]
      config.concurrency = config.concurrency * 2
    end

    assert_equal ["penstock", 1_000], seen
    assert_equal 10, @builder.settings.concurrency
  end

  test "[setup validation] client_id nil is refused with its path and type" do
    @builder.record { |config| config.client_id = nil }

    assert_equal ["config.client_id: must be a name of 1 to 249 letters, digits, dots, dashes and underscores " \
      "(but not . or ..), is nil. The default is \"penstock\""], @builder.settings.problems.map(&:to_s)
  end

  test "an unknown setting is reported with the nearest one, and later settings are still read" do
    line = __LINE__
    @builder.record do |config|
      config.concurency = 10
      config.pause.timout = 1
      config.weather = "nice"
      config.maxMessages = 7
      config.max_messages = "many"
      config.client_id = "shop"
    end
    settings = @builder.settings

    assert_equal "shop", settings.client_id
    assert_equal [
      "config.concurency: there is no such setting (builder_test.rb:#{line + 2}). Did you mean config.concurrency?",
      "config.pause.timout: there is no such setting (builder_test.rb:#{line + 3}). Did you mean config.pause.timeout?",
      "config.weather: there is no such setting (builder_test.rb:#{line + 4}). docs/configuration.md lists all settings",
      "config.maxMessages: there is no such setting (builder_test.rb:#{line + 5}). Did you mean config.max_messages?",
      'config.max_messages: must be an Integer of at least 1, is "many". The default is 100'
    ], settings.problems.map(&:to_s)
  end

  test "an unknown section is one problem, with any calls on it" do
    @builder.record { |config| config.paus.timeout = 5 }

    assert_equal ["config.paus: there is no such setting (builder_test.rb:#{__LINE__ - 2}). Did you mean config.pause?"],
      @builder.settings.problems.map(&:to_s)
  end

  test "a user's own error is raised" do
    assert_raises(NoMethodError) { @builder.record { |_config| nil.upcase } }
    assert_raises(NameError) { @builder.record { |_config| UnknownConstant } }
    assert_raises(KeyError) { @builder.record { |_config| {}.fetch(:a) } }
  end

  test "[producer block] a block is kept for the producer, and reading keeps the producer" do
    producer = Class.new {
      def produce_async = nil
      def produce_sync = nil
      def close = nil
    }.new
    read = nil
    @builder.record do |config|
      config.producer { |own| own[:"linger.ms"] = 50 }
      config.producer = producer
      read = config.producer
    end
    settings = @builder.settings

    assert_same producer, read
    assert_same producer, settings.producer
    assert_equal({"linger.ms": 50}, {}.tap { |own| settings.producer_blocks.first.call(own) })
  end

  test "nothing prints a secret" do
    @builder.record { |config| config.kafka = {"sasl.password": "hunter2", "ssl.key.pem": "hunter2", "client.id": "a"} }
    settings = @builder.settings
    printed = [settings.inspect, settings.kafka.inspect, settings.kafka.to_s, settings.to_h.inspect,
      settings.kafka.merge(a: 1).inspect, PP.pp(settings.kafka, +"")].join

    refute_match(/hunter2/, printed)
    assert_match(/client.id/, printed)
    assert_equal "hunter2", settings.kafka[:"sasl.password"]
  end

  test "an invalid Hash isn't printed" do
    @builder.record { |config| config.kafka = "sasl.password=hunter2" }

    assert_equal ['config.kafka: must be a Hash, is a String. Write {"bootstrap.servers": "localhost:9092"}, with the ' \
      "properties that you need"], @builder.settings.problems.map(&:to_s)
  end

  test "every setting has a description, and its default fits its type" do
    Schema::SETTINGS.each do |setting|
      assert setting.description.end_with?("."), setting.path
      next if setting.default.nil?

      refute Penstock::Config::Types.invalid?(setting.type.coerce(setting.default)), setting.path
    end
  end
end
