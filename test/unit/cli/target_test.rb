# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "fileutils"
require "penstock/application"
require "penstock/cli/context"
require "penstock/cli/boot_error"
require "penstock/cli/target"
require "penstock/cli/table"

class TargetTest < Penstock::TestCase
  def setup
    @dir = File.realpath(Dir.mktmpdir("target"))
  end

  def teardown
    FileUtils.remove_entry(@dir)
  end

  test "--bootstrap needs no application, and -X adds to it" do
    target = target({bootstrap: "a:1", properties: {"security.protocol" => "ssl"}})

    assert_equal({"bootstrap.servers": "a:1", "security.protocol": "ssl"}, target.kafka)
    assert_nil target.application
    assert_empty target.groups
  end

  test "without both the environment's servers are used" do
    assert_equal({"bootstrap.servers": "env:9092"}, target({}, "KAFKA_BOOTSTRAP_SERVERS" => "env:9092").kafka)
  end

  test "without any of them the missing boot file is reported" do
    assert_raises(Penstock::MissingBootFileError) { target({}).kafka }
  end

  test "a boot file that raises an error: the message has the way to do without it" do
    File.write(File.join(@dir, "penstock.rb"), %(raise IOError, "the database is down\\n\\tis it running?"))
    error = assert_raises(Penstock::CLI::BootError) { target({}).kafka }

    assert_match(/\Apenstock\.rb:1: the database is down \(IOError\)\n {2}is it running\?\n\nWith --bootstrap HOST:PORT/,
      error.message)
    assert_kind_of IOError, error.cause
    assert_equal({"bootstrap.servers": "a:1"}, target({bootstrap: "a:1"}).kafka)
  end

  test "the topic of a group's dead letters is known from the routes" do
    application = Penstock::Application.new("dead") { |config| config.kafka = {"bootstrap.servers": "a:1"} }
    orders = Class.new(Penstock::BaseConsumer) { def consume = nil }
    application.routing.draw do
      defaults { consumer orders }
      consumer_group :shop do
        topic(:orders) { dead_letter_queue topic: "orders.dead" }
        topic(:mails) { retry_topics delays: [10], finally: "mails.dead" }
        topic(:skipped) { dead_letter_queue topic: false }
        topic(:clicks)
      end
    end
    target = target({})
    target.define_singleton_method(:application) { application }

    assert_equal %w[orders.dead mails.dead] + [nil] * 4,
      %w[orders mails skipped clicks unknown].map { |topic| target.dead_letter_topic("shop", topic) } +
        [target.dead_letter_topic("other", "orders")]
    assert_nil target({bootstrap: "a:1"}).dead_letter_topic("shop", "orders")
  end

  test "a consumer without an application gets Penstock's division of memory" do
    settings = target({bootstrap: "a:1"}).consumer_settings

    assert_equal "a:1", settings["bootstrap.servers"]
    assert_equal "10000", settings["queued.min.messages"]
  end

  test "administration uses the application's config.admin.kafka, and -X overrides both" do
    target = target({properties: {"client.rack" => "b"}})
    application = Penstock::Application.new("admin") do |config|
      config.kafka = {"bootstrap.servers": "a:1", "sasl.username": "app"}
      config.admin.kafka = {"bootstrap.servers": "a:2", "client.rack": "a"}
    end
    target.define_singleton_method(:application) { application }

    assert_equal({"bootstrap.servers": "a:1", "sasl.username": "app", "client.rack": "b"}, target.kafka)
    assert_equal({"bootstrap.servers": "a:2", "sasl.username": "app", "client.rack": "b"}, target.administration)
    assert_equal "#<Penstock::Admin a:2>", target.admin(&:inspect)
  end

  test "a table's columns are as wide as needed, numbers are right-aligned, nil is a dash" do
    table = Penstock::CLI::Table.new(%w[topic lag], [["orders", 1_000], ["c", nil]]).to_s

    assert_equal ["topic    lag", "orders  1000", "c          -"], table.lines(chomp: true)
  end

  private

  def target(options, env = {})
    context = Penstock::CLI::Context.new(stdin: $stdin, stdout: $stdout, stderr: $stderr, env: env, dir: @dir)
    Penstock::CLI::Target.new(context, options)
  end
end
