# frozen_string_literal: true

require "test_helper"
require "io/wait"
require "json"
require "penstock/producer"
require_relative "../support/command_line"
require "support/embedded_broker"

class CommandLineClusterTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  def self.topics = {"orders" => 2}

  test "topics are created, listed and deleted; an existing one is an error unless --if_missing allows it" do
    assert_equal ["created made\n", 0], on_cluster("topics", "create", "made", "--partitions", "3").then { |r| [r.out, r.code] }
    assert_equal 1, on_cluster("topics", "create", "made").code
    assert_equal 0, on_cluster("topics", "create", "made", "--if_missing").code

    listed = JSON.parse(on_cluster("topics", "list", "--json").out)
    assert_includes listed, {"name" => "made", "partitions" => 3, "replicas" => 1}

    assert_equal 0, on_cluster("topics", "delete", "made", "--yes").code
    gone = on_cluster("topics", "delete", "made", "--yes")
    assert_equal ["made: there is no such topic\n", 1], [gone.err, gone.code]
  end

  test "tail prints what produce sends, and ends after the requested number" do
    sent = on_cluster("produce", "orders", "--key", "k", "--header", "a=b", "--partition", "1", "--json", input: "one\ntwo\n")
    assert_equal [0, 1], sent.out.lines.map { |line| JSON.parse(line)["offset"] }, sent.err

    seen = on_cluster("tail", "orders", "--from-beginning", "--count", "2", "--json")
    assert_equal 0, seen.code, seen.err
    assert_equal [["one", "k", {"a" => "b"}], ["two", "k", {"a" => "b"}]],
      seen.out.lines.map { |line| JSON.parse(line).values_at("payload", "key", "headers") }
  end

  test "tail prints every record, also one whose key, header and payload aren't UTF-8, and those after it" do
    self.class.cluster.create_topic("binary", partitions: 1)
    hostile = "\xFF\xFE\e[2J\n".b
    producing do |producer|
      producer.produce_sync(topic: "binary", payload: "first")
      producer.produce_sync(topic: "binary", payload: hostile, key: hostile, headers: {"bin" => hostile, "text" => "a"})
      producer.produce_sync(topic: "binary", payload: "last")
    end
    seen = on_cluster("tail", "binary", "--from-beginning", "--count", "3", "--json")
    rows = seen.out.lines.map { |line| JSON.parse(line) }

    assert_equal [0, ["first", nil, "last"]], [seen.code, rows.map { |row| row["payload"] }], seen.err
    assert_equal [hostile] * 3, [rows[1]["payload_base64"], rows[1]["key_base64"], rows[1]["headers_base64"]["bin"]]
      .map { |text| text.unpack1("m") }
    assert_equal({"text" => "a"}, rows[1]["headers"])
    seen = on_cluster("tail", "binary", "--from-beginning", "--count", "3")
    assert_equal "0@0 first\n0@1 \\xFF\\xFE\\e[2J\\n: \\xFF\\xFE\\e[2J\\n\n0@2 last\n", seen.out
  end

  test "tail ends when its reader is gone" do
    self.class.cluster.create_topic("headed", partitions: 1)
    producing { |producer| 20_000.times { producer.produce_async(topic: "headed", payload: "x" * 100) } }
    reader, writer = IO.pipe
    pid = spawn(CLEAN, RbConfig.ruby, EXECUTABLE, "tail", "headed", "--from-beginning", "--bootstrap",
      self.class.cluster.bootstrap_servers, out: writer, in: File::NULL, chdir: @dir)
    writer.close
    reader.gets
    reader.close

    status = wait_until(40, "its end") { ::Process.wait2(pid, ::Process::WNOHANG)&.last }
    assert_equal 0, status.exitstatus
  ensure
    [reader, writer].compact.each(&:close)
    ::Process.kill(:KILL, pid) && ::Process.wait(pid) if pid && !status
  end

  test "tail: a topic that doesn't exist and a cluster that can't be reached are errors; TERM ends it with 0" do
    missing = on_cluster("tail", "nowhere")
    assert_equal 1, missing.code
    assert_match(/\Apenstock: nowhere: this topic doesn't exist, or this client may not see it \(unknown_topic_or_part\)\. Check/,
      missing.err)
    away = penstock("tail", "orders", "--bootstrap", "127.0.0.1:1", "--timeout", "1")
    assert_equal 1, away.code
    assert_match(/\Apenstock: .*127\.0\.0\.1:1.*refused/, away.err)
    assert_equal 0, ended_by(:TERM)
  end

  # @return [Integer, nil] exit code of a tail that has printed a record and then got the signal
  def ended_by(signal)
    self.class.cluster.create_topic("tailed", partitions: 1)
    producing { |producer| producer.produce_sync(topic: "tailed", payload: "x") }
    reader, writer = IO.pipe
    pid = spawn(CLEAN, RbConfig.ruby, EXECUTABLE, "tail", "tailed", "--from-beginning", "--bootstrap", bootstrap, out: writer,
      in: File::NULL, chdir: @dir)
    writer.close
    reader.gets
    ::Process.kill(signal, pid)
    wait_until(40, "its end") { ::Process.wait2(pid, ::Process::WNOHANG)&.last }.exitstatus
  ensure
    [reader, writer].compact.each(&:close)
  end

  test "a server consumes, commits on TERM with exit code 0, and then groups lag shows no lag" do
    write("penstock.rb", <<~RUBY)
      require "penstock"
      class Seen < Penstock::BaseConsumer
        def consume
          messages.each { |message| puts "seen \#{message.raw_payload}" }
          $stdout.flush
        end
      end
      class PenstockApp < Penstock::App
        setup do |config|
          config.group_id = "readers"
          config.kafka = #{self.class.cluster.kafka.inspect}
        end
        routes.draw { topic(:lagging) { consumer Seen } }
      end
    RUBY
    self.class.cluster.create_topic("lagging", partitions: 1)
    assert_equal 0, on_cluster("produce", "lagging", "hello").code

    assert_equal ["seen hello", 0], run_server_until("seen hello")
    expected = [{"group" => "readers", "topic" => "lagging", "partition" => 0, "committed" => 1, "end" => 1, "lag" => 0,
                 "incomplete" => 0}]
    [%w[groups lag --json], %w[groups lag readers --json]].each do |command|
      lag = penstock(*command)
      assert_equal expected, JSON.parse(lag.out), lag.err
    end
  end

  test "[install] the application that install writes consumes what produce sends" do
    env = {"KAFKA_BOOTSTRAP_SERVERS" => self.class.cluster.bootstrap_servers}
    self.class.cluster.create_topic("example", partitions: 1)
    assert_equal 0, penstock("install").code
    assert_equal 0, penstock("produce", "example", '{"hello": "world"}', env: env).code

    line = 'example/0 at 0: {"hello"=>"world"}'
    assert_equal [line, 0], run_server_until(line, env: env)
  end

  test "doctor names retry topics as such, reports other missing topics, and creates none of them" do
    self.class.cluster.create_topic("invoices", partitions: 1)
    write("penstock.rb", <<~RUBY)
      class Seen < Penstock::BaseConsumer
        def consume = nil
      end
      class PenstockApp < Penstock::App
        setup do |config|
          config.kafka = {"bootstrap.servers": "#{bootstrap}"}
          config.group_id = "billing"
        end
        routes.draw do
          topic(:invoices) do
            consumer Seen
            retry_topics delays: [500], finally: "invoices.dead"
          end
          topic(:nowhere) { consumer Seen }
        end
      end
    RUBY
    before = topics_now
    result = penstock("doctor", "--connect", "--json")
    steps = JSON.parse(result.out).to_h { |step| [step["name"], step.values_at("state", "detail")] }

    assert_equal ["ok", "1 partitions"], steps["topic invoices"], result.err
    assert_equal ["ok", "doesn't exist yet: the application creates it when it starts"], steps["retry topic invoices.retry.1"]
    assert_equal ["failed", "doesn't exist"], steps["topic nowhere"]
    assert_equal 1, result.code
    assert_equal before, topics_now
  end

  test "groups lag --bootstrap doesn't load the application of the folder" do
    write("penstock.rb", "raise 'loaded'")
    result = penstock("groups", "lag", "readers", "--bootstrap", bootstrap)
    assert_equal [0, ""], [result.code, result.err]

    unnamed = penstock("groups", "lag", "--bootstrap", bootstrap)
    assert_equal 1, unnamed.code, unnamed.out
    assert_match(/name a group: --bootstrap names the cluster, so no application is loaded, and the cluster's groups can't be/,
      unnamed.err)
    refute_includes unnamed.err, "loaded (RuntimeError)"
  end

  test "doctor passes on a broker that answers, and names the step where one doesn't" do
    assert_equal %w[ok ok ok], states(on_cluster("doctor", "--connect", "--json"), %w[DNS TCP Kafka])

    closed = penstock("doctor", "--connect", "--json", "--bootstrap", "127.0.0.1:1")
    assert_equal %w[ok failed skipped], states(closed, %w[DNS TCP Kafka])
    assert_equal 1, closed.code
  end

  test "an unreachable broker is one sentence and exit code 1" do
    result = penstock("topics", "list", "--timeout", "1", "--bootstrap", "127.0.0.1:1")

    assert_equal 1, result.code
    assert_equal 1, result.err.lines.size, result.err
    assert_includes result.err, "127.0.0.1:1"
  end

  test "the broker command prints where it listens and ends with its standard input" do
    reading, writing = IO.pipe
    out, child_out = IO.pipe
    pid = spawn(CLEAN, RbConfig.ruby, EXECUTABLE, "broker", "--port", "0", "--topics", "a:3", "--json", "--stop-with-stdin",
      in: reading, out: child_out, chdir: @dir)
    [reading, child_out].each(&:close)
    address = JSON.parse(out.gets)["bootstrap_servers"]
    listed = JSON.parse(penstock("topics", "list", "--json", "--bootstrap", address).out)
    writing.close
    _, status = Process.wait2(pid)

    assert_equal ["a", 3, 0], [*listed.first.values_at("name", "partitions"), status.exitstatus]
  ensure
    [reading, writing, out, child_out].each { |io| io.close unless io.closed? }
  end

  private

  def producing
    producer = Penstock::Producer.new { |config| config.kafka = self.class.cluster.kafka }
    yield producer
  ensure
    producer&.close
  end

  def bootstrap = self.class.cluster.bootstrap_servers

  def on_cluster(*argv, input: "") = penstock(*argv, "--bootstrap", bootstrap, input: input)

  def topics_now = JSON.parse(on_cluster("topics", "list", "--json").out)

  def states(result, names)
    steps = JSON.parse(result.out).to_h { |step| step.values_at("name", "state") }
    names.map { |name| steps[name] }
  end

  JOINED_S = 75

  def run_server_until(line, env: {})
    out, child_out = IO.pipe
    pid = spawn(CLEAN.merge(env), RbConfig.ruby, EXECUTABLE, "server", out: child_out, err: File.join(@dir, "err"), chdir: @dir)
    child_out.close
    heard = []
    seen = Timeout.timeout(JOINED_S) { out.each_line(chomp: true).find { |text| (heard << text).last == line } }
    Process.kill(:TERM, pid)
    out.read
    [seen, Process.wait2(pid).last.exitstatus]
  rescue Timeout::Error
    Process.kill(:KILL, pid)
    Process.wait(pid)
    flunk "the server never said #{line.inspect}; it said: #{[*heard, File.read(File.join(@dir, "err"))].join("\n")}"
  ensure
    out.close
  end
end
