# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock"
require "penstock/config/validator"

# A configuration for Karafka: each setting that doesn't exist here is reported with what to do instead.
class CompatKarafkaSettingsTest < Penstock::TestCase
  include RoutesSupport

  Settings = Penstock::Compat::Karafka::Settings

  def told(&block) = settings(&block).problems.map { |problem| plain(problem.to_s) }

  test "every setting of Karafka that doesn't exist here is reported with what to do instead, anywhere in the block" do
    Settings::INSTEAD.each do |path, way_out|
      section, name = path.match(/\A(?:(.*)\.)?([^.]+)\z/).captures
      found = told do |config|
        section.to_s.split(".").reduce(config) { |on, part| on.public_send(part) }.public_send("#{name}=", 1)
      end

      assert_equal ["config.#{path}: there is no such setting. #{way_out}"], found
    end
  end

  test "the nearest listed setting above an unlisted one applies to it" do
    found = told do |config|
      config.internal.connection.proxy.commit.max_attempts = 5
      config.internal.processing.consumer_groups.partitioner_class = Object
      config.internal.nobody.knows = 1
    end

    assert_equal ["config.internal.connection.proxy.commit.max_attempts", "config.internal.processing.consumer_groups." \
      "partitioner_class", "config.internal.nobody.knows"], found.map { |line| line[/\A[^:]+/] }
    assert_equal Settings::INSTEAD.values_at("internal.connection.proxy", "internal.processing", "internal"), found.map { |line| line.split("setting. ", 2).last }
  end

  test "blocks, calls and operators on settings that don't exist are reported once, and later settings are read" do
    with = settings do |config|
      config.internal.swarm.setup { |swarm| swarm.node_report_timeout = 5 }
      config.internal.routing.activity_manager.include(:topics, "orders")
      2.times { config.internal.processing.critical_errors << IOError }
      config.client_id = "shop"
    end
    assert_equal %w[internal.swarm.node_report_timeout internal.routing.activity_manager internal.processing.critical_errors]
      .map { |path| "config.#{path}" }, with.problems.map(&:path)
    assert_equal "shop", with.client_id
  end

  test "reading an internal setting is not reported" do
    assert_empty(told { |config| config.internal.tick_interval })
  end

  test "the finished settings have no internal settings, and raise with what to do instead" do
    error = assert_raises(NoMethodError) { settings.internal.tick_interval }

    assert_match(/\Athere is no config.internal\. Remove it: Penstock's internals can't be replaced by settings/, error.message)
    error = assert_raises(NoMethodError) { settings.swarm.node.id }
    assert_match(/\Athere is no config.swarm.node. Read PenstockApp.node instead/, error.message)
  end

  test "a misspelt name is still reported with the nearest one" do
    found = told do |config|
      config.concurency = 5
      config.admin.retry_backof = 5
    end

    assert_equal ["config.concurency: there is no such setting. Did you mean config.concurrency?",
      "config.admin.retry_backof: there is no such setting. Did you mean config.admin.retry_backoff?"], found
  end

  test "a section is not a setting, and an unknown setting of a section is reported with the section's settings" do
    found = told do |config|
      config.pause = 500
      config.health.address = "x"
    end

    assert_equal ["config.pause: is a group of settings, not a setting. Set for example config.pause.timeout; it has " \
      "timeout, max_timeout, with_exponential_backoff",
      "config.health.address: there is no such setting. config.health has port, host"], found
  end

  test "a setting that Karafka doesn't have either is reported with the page of all settings" do
    found = told { |config| config.zzz = 1 }

    assert_equal ["config.zzz: there is no such setting. docs/configuration.md lists all settings"], found
  end

  test "the admin's times are typed" do
    admin = settings { |config| config.admin.setup { |own| own.max_retries_duration = 5_000 and own.retry_backoff = 200 } }.admin

    assert_equal [60_000, 5_000, 200, 50],
      [admin.max_wait_time, admin.max_retries_duration, admin.retry_backoff, admin.poll_timeout]
    wrong = settings { |config| [config.admin.max_retries_duration = 1, config.admin.retry_backoff = 0] }
    assert_equal ["config.admin.max_retries_duration", "config.admin.retry_backoff"], wrong.problems.map(&:path)
  end

  test "a setting without effect is accepted, with any value that Karafka accepts" do
    %w[max_wait_time admin.poll_timeout].each do |path|
      section, name = path.match(/\A(?:(.*)\.)?([^.]+)\z/).captures
      found = told do |config|
        config.shutdown_timeout = 500
        (section ? config.public_send(section) : config).public_send("#{name}=", 3_600_000)
      end

      assert_empty found, path
    end
  end

  test "max_wait_time above shutdown_timeout doesn't keep an application from booting" do
    config = settings do |own|
      own.kafka = {"bootstrap.servers": "localhost:9092"}
      own.client_id = "shop"
      own.group_id = "shop"
      own.max_wait_time = 60_000
      own.shutdown_timeout = 500
    end

    assert_empty Penstock::Config::Validator.problems(config)
  end
end
