# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/messages/message"
require "penstock/native/admin"
require "penstock/processing/failure/message"
require "penstock/processing/failure/oversized"
require "penstock/producer"
require "support/command_line"
require "support/embedded_broker"

# `penstock dead`, as a user runs it, on the embedded broker.
class CommandLineDeadTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  def self.topics = {"orders" => 2}

  def setup
    super
    @topic = "dead-#{object_id}"
    self.class.cluster.create_topic(@topic, partitions: 2)
  end

  test "letters are listed with their source and error, and filtered" do
    bury(1, "a", KeyError.new("no total"))
    bury(2, "b", ArgumentError.new("no name"), at: Time.now - 7_200)

    assert_equal [["a", 1, "KeyError"], ["b", 2, "ArgumentError"]], listed.map { |one| [one["key"], *about(one)] }.sort
    assert_equal [1], listed("--error", "KeyError").map { |one| one["source"]["offset"] }
    assert_equal [1], listed("--since", "1h").map { |one| one["source"]["offset"] }
    assert_equal [2], listed("--until", "1h").map { |one| one["source"]["offset"] }
    assert_equal [2], listed("--key", "b").map { |one| one["source"]["offset"] }
    assert_empty listed("--topic", "others")
    assert_includes on_cluster("dead", "list", @topic).out, "orders/0/1"
    assert_includes on_cluster("dead", "list", @topic, "--since", "soon").err, "is not a time"
  end

  test "list warns of an ordinary topic" do
    raw("k", {})
    shown = on_cluster("dead", "list", @topic)

    assert_equal 0, shown.code
    assert_includes shown.err, "#{@topic} may be no dead letter topic"
    bury(1, "a", KeyError.new("no total"))
    refute_includes on_cluster("dead", "list", @topic).err, "no dead letter topic"
  end

  test "show prints a letter's content, and no byte that controls the terminal" do
    bury(7, "k\e[2J", RuntimeError.new("no"), payload: "{\"total\": 9}")
    shown = on_cluster("dead", "show", @topic, "0", "0")

    assert_equal 0, shown.code, shown.err
    ["from orders/0/7", "penstock_error_message: no", "{\"total\": 9}", "tag: web"].each { |part|
      assert_includes shown.out, part
    }
    refute_includes shown.out, "\e"
    assert_equal 1, on_cluster("dead", "show", @topic, "0", "99").code
  end

  test "replay sends the chosen letters, counts them, and removes them from the list" do
    source = "source-#{object_id}"
    self.class.cluster.create_topic(source, partitions: 1)
    3.times { |offset| bury(offset, "k#{offset}", (offset == 1) ? KeyError.new("x") : IOError.new("y"), topic: source) }

    dry = on_cluster("dead", "replay", @topic, "--error", "IOError", "--dry-run", "--json")
    assert_equal [0, 2], JSON.parse(dry.out).map { |one| one["source"]["offset"] }.sort
    assert_equal 3, listed.size, "a dry run does nothing"

    done = on_cluster("dead", "replay", @topic, "--error", "IOError", "--yes")
    assert_equal ["replayed 2 messages to #{source}\n", 0], [done.out, done.code], done.err
    sent = on_cluster("tail", source, "--from-beginning", "--count", "2", "--json").out.lines.map { |line| JSON.parse(line) }
    headers = {"tag" => "web", "penstock_replays" => "1", "penstock_original_timestamp" => "1700000000000"}
    assert_equal [["k0", headers], ["k2", headers]], sent.map { |one| one.values_at("key", "headers") }
    assert_operator sent.first["timestamp"], :>, "2024", "the time of the replay"
    assert_equal [1], listed.map { |one| one["source"]["offset"] }
    assert_equal [true, false, true], listed("--all").sort_by { |one| one["offset"] }.map { |one| one["handled"] }
  end

  test "drop removes letters from the list permanently, and asks for confirmation first" do
    3.times { |offset| bury(offset, "k", IOError.new("y")) }

    assert_includes on_cluster("dead", "drop", @topic, "--everything").err, "pass --yes"
    assert_includes on_cluster("dead", "drop", @topic, "--yes").err, "select letters"
    assert_equal "dropped 1 dead letters\n", on_cluster("dead", "drop", @topic, "--partition", "0", "--offset", "1", "--yes").out
    assert_equal [0, 2], listed.map { |one| one["offset"] }
    assert_equal 0, on_cluster("dead", "drop", @topic, "--everything", "--yes").code
    assert_empty listed
  end

  test "a letter without its payload is shown as such, and replayed completely while the record is still in its source" do
    source = "source-#{object_id}"
    self.class.cluster.create_topic(source, partitions: 1)
    %w[first second].each { |payload| deliver(topic: source, payload: payload, key: "k", timestamp: 1_700_000_000_000) }
    bury(0, "a", IOError.new("y"), topic: source, payload: "first", times: 1)
    bury(5, "b", IOError.new("y"), topic: source, payload: "later", times: 1)
    bury(1, "c", IOError.new("y"), topic: source, payload: "second", times: 3)
    bury(1, "d", IOError.new("y"), topic: source, payload: "second")

    assert_includes on_cluster("dead", "list", @topic).out, "payload, headers, key"
    assert_equal [["payload"], ["payload"], %w[payload headers key], nil], listed.map { |one| one["source"]["omitted"] }
    shown = %w[0 1].map { |offset| on_cluster("dead", "show", @topic, "0", offset).out }
    assert_includes shown.first, "the payload has 5 bytes. `penstock dead replay` reads it at"
    assert_includes shown.last, "no longer available: #{source}/0/5 is gone"

    done = on_cluster("dead", "replay", @topic, "--everything", "--yes")
    assert_equal [1, "replayed 3 messages to #{source}\n"], [done.code, done.out], done.err
    assert_includes done.err, "#{@topic}/0/1 wasn't replayed: its payload was left out, and #{source}/0/5 is gone"
    sent = on_cluster("tail", source, "--from-beginning", "--count", "5", "--json").out.lines.map { |line| JSON.parse(line) }
    assert_equal [["a", "first"], ["k", "second"], ["d", "second"]], sent.drop(2).map { |one| one.values_at("key", "payload") }
    assert_equal [1], listed.map { |one| one["offset"] }
  end

  test "letters that can't be replayed are named and stay on the list; all others are sent, and the exit code is 1" do
    source = "source-#{object_id}"
    self.class.cluster.create_topic(source, partitions: 1)
    bury(0, "good", IOError.new("y"), topic: source)
    raw("bad", {"source_topic" => "no\e[2J topic"})
    raw("worse", {"source_topic" => "\xFF\xFE".b, "penstock_omitted" => "\xFF,".b, "penstock_failed_at" => "9" * 400,
      "penstock_error_class" => "\e\xFF".b, "bin\xFF".b => "\xFF".b})
    raw("stray", {})
    bury(1, "fine", IOError.new("y"), topic: source)

    dry = on_cluster("dead", "replay", @topic, "--everything", "--dry-run")
    assert_equal [1, 2], [dry.code, dry.out.scan("#{source}/0/").size], dry.out
    done = on_cluster("dead", "replay", @topic, "--everything", "--yes")
    assert_equal [1, "replayed 2 messages to #{source}\n"], [done.code, done.out], done.err
    assert_match(/#{@topic}\/0\/1 wasn't replayed: it comes from "no\\e\[2J topic", which is not a valid topic name/, done.err)
    assert_match(/#{@topic}\/0\/2 wasn't replayed: it comes from "\\xFF\\xFE"/, done.err)
    assert_match(/#{@topic}\/0\/3 wasn't replayed: it doesn't name its source: name a topic with --to/, done.err)
    assert_includes done.err, "3 letters stay on the list\n"
    refute_match(/[[:cntrl:]&&[^\n]]/, done.err + dry.err)
    sent = on_cluster("tail", source, "--from-beginning", "--count", "2", "--json").out.lines
    assert_equal %w[good fine], sent.map { |line| JSON.parse(line)["key"] }
    assert_equal [1, 2, 3], listed.map { |one| one["offset"] }
    assert_equal 1, on_cluster("dead", "replay", @topic, "--everything", "--yes").code
    elsewhere = on_cluster("dead", "replay", @topic, "--everything", "--yes", "--to", source)
    assert_equal [1, "replayed 2 messages to #{source}\n"], [elsewhere.code, elsewhere.out]
    assert_match(/0\/2 wasn't replayed: its \\xFF was left out/, elsewhere.err)
  end

  test "a letter that the broker refuses doesn't keep others from being replayed" do
    good, bad = "good-#{object_id}", "bad-#{object_id}"
    [good, bad].each { |name| self.class.cluster.create_topic(name, partitions: 1) }
    self.class.cluster.topic_error(bad, :topic_authorization_failed)
    bury(0, "a", IOError.new("y"), topic: good)
    bury(0, "b", IOError.new("y"), topic: bad)
    bury(1, "c", IOError.new("y"), topic: good)
    done = on_cluster("dead", "replay", @topic, "--everything", "--yes")

    assert_equal [1, "replayed 2 messages to #{good}\n"], [done.code, done.out], done.err
    assert_match(/#{@topic}\/0\/1 wasn't replayed: .*topic_authorization_failed/, done.err)
    assert_equal [1], listed.map { |one| one["offset"] }
  ensure
    self.class.cluster.topic_error(bad, nil)
  end

  test "list and show print any letter, as lines and as JSON, and no byte that controls the terminal" do
    hostile = "\xFF\e[2J\u202E\n".b
    raw(hostile, {"source_topic" => hostile, "penstock_error_class" => hostile, "penstock_error_message" => hostile,
      hostile => hostile, "text" => "a"}, payload: hostile)
    outputs = [%w[list], %w[list --json], %w[show 0 0], %w[show 0 0 --json]].map do |name, *rest|
      on_cluster("dead", name, @topic, *rest).tap { |one| assert_equal 0, one.code, one.err }.out
    end
    outputs.each { |out| refute_match(/[[:cntrl:]&&[^\n]]|\u202E/, out) }
    shown = JSON.parse(outputs.last)

    assert_nil shown["key"]
    assert_equal [hostile] * 2, shown.values_at("key_base64", "payload_base64").map { |text| text.unpack1("m") }
    assert_equal [{"text" => "a"}, 4], [shown["headers"], shown["headers_base64"].size]
    assert_equal 1, JSON.parse(outputs[1]).size
  end

  test "a message without its source is replayed only if the user names a topic" do
    assert_equal 0, on_cluster("produce", @topic, "strange").code
    assert_includes on_cluster("dead", "replay", @topic, "--everything", "--yes").err, "--to"
    assert_equal 0, on_cluster("dead", "replay", @topic, "--everything", "--yes", "--to", "orders").code
  end

  test "a missing topic is an error with a message" do
    failed = on_cluster("dead", "list", "nowhere")
    assert_equal 1, failed.code
    assert_includes failed.err, "nowhere"
  end

  private

  def on_cluster(*argv) = penstock(*argv, "--bootstrap", self.class.cluster.bootstrap_servers)

  def listed(*options)
    result = on_cluster("dead", "list", @topic, "--json", *options)
    assert_equal 0, result.code, result.err
    letters = JSON.parse(result.out)
    letters.each { |letter| letter["key"] = keys[[letter["partition"], letter["offset"]]] }
  end

  def keys = @keys ||= {}
  def about(letter) = letter["source"].values_at("offset", "error_class")

  # Writes a letter to partition 0, as a worker does.
  # @param times [Integer] how often it was refused for its size
  def bury(offset, key, error, payload: "p", topic: "orders", at: Time.now, times: 0)
    record = record(topic, offset, key, payload)
    message = Penstock::Processing::Failure::Message.dead_letter(record, topic: @topic, group: "g", error: error, attempt: 4,
      trace_id: "t", now_ms: (at.to_f * 1_000).to_i)
    times.times { message = Penstock::Processing::Failure::Oversized.reduced(message, record) }
    report = producing { |producer| producer.produce_sync({**message.except(:partition_key), partition: 0}) }
    keys[[0, report.offset]] = key
  end

  # A message in the dead letter topic that no worker of ours has written.
  def raw(key, headers, payload: "p")
    producing { |producer| producer.produce_sync(topic: @topic, partition: 0, key: key, payload: payload, headers: headers) }
  end

  def record(topic, offset, key, payload)
    row = Penstock::Messages::MemoryBatch::Row.new(offset: offset, payload: payload, key: key, headers: {"tag" => "web"},
      timestamp: 1_700_000_000_000)
    Penstock::Message.new(Penstock::Messages::MemoryBatch.new(topic, 0, [row]), 0)
  end

  def deliver(**message) = producing { |producer| producer.produce_sync(message) }

  def producing
    producer = Penstock::Producer.new { |config| config.kafka = self.class.cluster.kafka }
    yield producer
  ensure
    producer&.close
  end
end
