# frozen_string_literal: true

require "test_helper"
require "penstock/native/producer"
require "support/command_line"
require "support/embedded_broker"

# A server that gets TTIN: the log names the file that it writes, and the file is replayed.
class FlightRecorderProcessTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  def self.topics = {"orders" => 2}

  def setup
    super
    FileUtils.mkdir_p(File.join(@dir, "flights"))
    write("penstock.rb", <<~RUBY)
      require "penstock"
      require "logger"
      class Orders < Penstock::BaseConsumer
        def consume = messages.each { |message| raise "no" if message.raw_payload == "3" && attempt < 3 }
      end
      class PenstockApp < Penstock::App
        setup do |config|
          config.kafka = #{self.class.cluster.kafka.inspect}
          config.pause.timeout = config.pause.max_timeout = 20
          config.flight_recorder_path = "flights"
          config.logger = Logger.new($stdout, level: Logger::DEBUG) # calls have lines of their own
        end
        routes.draw { topic(:orders) { consumer Orders; parallel by: :key } }
      end
    RUBY
  end

  def produce
    producer = Penstock::Native::Producer.new({"bootstrap.servers" => self.class.cluster.kafka[:"bootstrap.servers"].to_s})
    40.times { |index| producer.produce("orders", index.to_s, "key #{index % 5}", partition: index % 2, handle: false) }
    producer.flush(10_000) or raise "not delivered"
  ensure
    producer&.close(1_000)
  end

  def server
    log = File.join(@dir, "server.log")
    pid = ::Process.spawn(CLEAN, RbConfig.ruby, EXECUTABLE, "server", :chdir => @dir, %i[out err] => log)
    yield pid, -> { File.read(log) }
  ensure
    ::Process.kill("TERM", pid)
    ::Process.wait(pid)
  end

  test "on TTIN a server writes its partitions' last actions to a file that its log names; penstock replay confirms it" do
    produce
    server do |pid, log|
      wait_until(20, "all records", state: log) { log.call.scan(/offset 3.*attempt 3|consumed .*attempt 3/).any? }
      ::Process.kill("TTIN", pid)
      wait_until(10, "the dump", state: log) { log.call[%r{flight recorder \(TTIN\): (\S+\.json)}] }
      path = File.join(@dir, log.call[%r{flight recorder \(TTIN\): (\S+\.json)}, 1])
      refute_match(/key \d/, File.read(path))
      result = penstock("replay", path)
      assert_equal 0, result.code, result.out + result.err
      origin, verdict, meaning = result.out.lines
      assert_match(/\ADump of process #{pid} \(reason: TTIN\), written at [\d:.]+ UTC by Penstock \S+ on Ruby \S+\.$/, origin)
      assert_match(/\A\d+ decisions of 2 partitions were made again: all as recorded\.$/, verdict)
      assert_match(/\APenstock decided by its rules: /, meaning)
      assert_match(/failed at \d+ with RuntimeError.*decisions, all as recorded/m, result.out)
    end
  end
end
