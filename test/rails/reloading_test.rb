# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/rails_application"

# Changed code in development, while records are consumed.
class RailsReloadingTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  ROUTES = <<~RUBY
    topic(ENV.fetch("TOPIC")) do
      consumer OrdersConsumer
      filter ->(_topic, _partition) { OrdersFilter.new }
      max_messages 5
      EXECUTION
    end
  RUBY

  # Writes the classes, which note their version.
  def version(number)
    write("app/consumers/orders_filter.rb", <<~RUBY)
      class OrdersFilter < Penstock::Filter
        def apply!(messages)
          messages.each { |message| ApplicationConsumer.note("filter #{number} \#{message.raw_payload}") }
        end
      end
    RUBY
    write("app/consumers/orders_consumer.rb", <<~RUBY)
      class OrdersConsumer < ApplicationConsumer
        def consume
          messages.each do |message|
            note "begin #{number} \#{message.raw_payload} \#{Process.pid}"
            File.read("release") if message.raw_payload == "long" # a pipe: it waits until the test writes
            note "end #{number} \#{message.raw_payload} \#{Process.pid}"
          end
        end

        HOOK
      end
    RUBY
  end

  def prepare(execution, hook: "def revoked = note('revoked')", settings: "")
    application(routes: ROUTES.sub("EXECUTION", execution), settings: settings)
    write("app/consumers/application_consumer.rb", <<~'RUBY')
      class ApplicationConsumer < Penstock::BaseConsumer
        def self.note(text) = File.write(ENV.fetch("JOURNAL"), "#{text}\n", mode: "a")
        def note(text) = self.class.note(text)
      end
    RUBY
    @hook = hook
    change(1)
    File.mkfifo(File.join(@dir, "release"))
  end

  def change(number)
    version(number)
    path = File.join(@dir, "app/consumers/orders_consumer.rb")
    File.write(path, File.read(path).sub("HOOK") { @hook })
  end

  # Keeps producing to some partitions until the block has ended.
  # @return [Array<String>] payloads
  def under_load(partitions)
    sent = []
    lock, ended = Mutex.new, ConditionVariable.new
    done = false
    producer = Penstock::Producer.new { |config| config.kafka = cluster.kafka }
    thread = Thread.new do
      until done
        partition = partitions[sent.size % partitions.size]
        producer.produce_async(topic: @topic, payload: "m#{sent.size}", partition: partition)
        sent << "m#{sent.size}"
        lock.synchronize { ended.wait(lock, 0.005) unless done }
      end
    end
    yield
    done = true
    thread.join
    sent
  ensure
    done = true
    thread&.join
    producer&.close
  end

  def produce(payload, partition) = deliver(cluster.kafka, [{topic: @topic, payload: payload, partition: partition}])

  # @return [Array<Array<String>>] words of the lines that begin with a word
  def noted(word) = journal.map(&:split).select { |words| words.first == word }

  def versions(word) = noted(word).map { |words| words[1] }

  def assert_consumed(server, sent, of:)
    server.await("all records", 120) { (sent - noted("end").map { |words| words[2] }).empty? }
    assert_equal sent.tally, of.call.tally.slice(*sent)
  end

  test "a changed consumer and filter take effect with the next call, under load, when a long call elsewhere has ended" do
    prepare("")
    server = serve
    produce("long", 0)
    await_journal(server, /begin 1 long/)
    sent = under_load([1, 2, 3]) do
      await_journal(server, /end 1 m/)
      change(2)
      server.await("the line about the long call", 60) { log.include?("is reloaded when all running calls have ended") }
      refute_includes versions("begin"), "2", "while the long call ran"
      File.write(File.join(@dir, "release"), "\n")
      await_journal(server, /end 2 m/)
    end
    assert_consumed(server, sent, of: -> { noted("begin").map { |words| words[2] } })

    assert_match(/waits for consume of #{@topic}, which has been running for \d+\.\d s, at app\/consumers\/orders_consumer\.rb:5/,
      log)
    assert_equal 1, log.scan("when all running calls have ended").size
    %w[begin filter].each { |word| assert_equal versions(word).sort, versions(word), word }
    assert_equal %w[1 2], versions("filter").uniq
    assert_equal ["end", "1", "long"], noted("end").find { |words| words[2] == "long" }.first(3)
    assert_empty noted("revoked"), "a partition was lost"
    stop(server)
  end

  test "so it is in child processes: each reloads for itself, and waits for no other" do
    prepare("run_on :processes, max: 2", hook: "")
    server = serve
    produce("long", 0)
    await_journal(server, /begin 1 long/)
    sent = under_load([1, 2, 3]) do
      await_journal(server, /end 1 m/)
      change(2)
      await_journal(server, /end 2 m/)
    end
    assert_consumed(server, sent, of: -> { noted("begin").map { |words| words[2] } })
    File.write(File.join(@dir, "release"), "\n")
    await_journal(server, /end 1 long/)

    noted("begin").group_by { |words| words[3] }.each_value do |lines|
      assert_equal lines.map { |words| words[1] }.sort, lines.map { |words| words[1] }
    end
    assert_equal %w[1 2], versions("begin").uniq
    stop(server)
  end

  test "hooks use the changed code too, and a broken class fails its calls until it is repaired" do
    prepare("")
    server = serve
    produce("a", 0)
    await_journal(server, /end 1 a/)
    write("app/consumers/orders_consumer.rb", "class OrdersConsumer < ApplicationConsumer\n  def consume = (\nend\n")
    sent = under_load([1]) do
      server.await("the error", 60) { log.include?("SyntaxError") }
      @hook = "def shutdown = note('shutdown of version 3')"
      change(3)
      await_journal(server, /end 3 m/)
    end
    assert_consumed(server, sent, of: -> { noted("end").map { |words| words[2] }.uniq })
    stop(server)

    assert_includes journal, "shutdown of version 3"
  end

  {"threads" => "", "child processes" => "run_on :processes, max: 1"}.each do |where, execution|
    test "in #{where} a consumer whose file defines another class, or is gone, fails its calls until it is back" do
      prepare(execution, hook: "", settings: "config.pause.timeout = config.pause.max_timeout = 50")
      server = serve
      produce("a", 0)
      await_journal(server, /end 1 a/)
      path = "app/consumers/orders_consumer.rb"
      ended = nil
      sent = under_load([1]) do
        write(path, File.read(File.join(@dir, path)).sub("class OrdersConsumer", "class OrderConsumer"))
        await_missing(server)
        ended = versions("end").size
        File.delete(File.join(@dir, path))
        await_missing(server)
        assert_equal ended, versions("end").size
        change(3)
        await_journal(server, /end 3 m/)
      end
      assert_consumed(server, sent, of: -> { noted("end").map { |words| words[2] } })
      stop(server)

      assert_equal [%w[1], %w[3]], [versions("end").first(ended).uniq, versions("end").drop(ended).uniq]
    end
  end

  # Not the first error after a change, which is Zeitwerk's: "expected file … to define constant OrdersConsumer, but didn't".
  def await_missing(server)
    before = log.scan("uninitialized constant OrdersConsumer").size
    server.await("calls that fail", 60) { log.scan("uninitialized constant OrdersConsumer").size > before }
  end

  test "a changed boot file can't be reloaded: one line asks for a restart" do
    prepare("")
    server = serve
    produce("a", 0)
    await_journal(server, /end 1 a/)
    File.write(File.join(@dir, "config/penstock.rb"), "\n", mode: "a")
    under_load([1]) { server.await("the line", 60) { log.include?("config/penstock.rb has changed: restart the process") } }
    stop(server)

    assert_equal 1, log.scan("restart the process").size
  end

  test "a changed class whose object a route keeps can't be reloaded: one line asks for a restart, a block uses the new class" do
    prepare("deserializers payload: Text.new, key: ->(message) { Text.new.call(message) }", hook: "")
    text = "class Text\n  def call(_message) = %s\nend\n"
    write("app/models/text.rb", format(text, 1))
    path = "app/consumers/orders_consumer.rb"
    write(path, File.read(File.join(@dir, path)).sub("begin 1") { "begin \#{message.payload}\#{message.key}" })
    server = serve
    produce("a", 0)
    await_journal(server, /begin 11 a/)
    write("app/models/text.rb", format(text, 2))
    under_load([1]) { await_journal(server, /begin 12 m/) }
    stop(server)

    assert_equal [["#{File.realpath(@dir)}/app/models/text.rb", "deserializers of topic #{@topic} keeps Text as it was at boot"]],
      log.scan(/ (\S+) has changed: restart the process\. (.+?)$/)
  end
end
