# frozen_string_literal: true

require "test_helper"
require "penstock/native/admin"
require "penstock/native/producer"
require_relative "../support/free_port"
require_relative "../support/kafka_security_process"
require_relative "../support/kafka_server"
require_relative "../support/real_broker"

# An application without its broker or topic: it logs one clear line, and keeps trying.
class BrokerDownTest < Penstock::TestCase
  include Penstock::TestSupport::RealBroker

  NOT_THERE = /no connection to 127\.0\.0\.1:\d+, TCP failed: Connection refused\. Nothing listens there/

  def setup
    super
    obstacle = Penstock::TestSupport::KafkaServer.obstacle
    skip obstacle if obstacle
    @applications = []
  end

  def teardown
    (@applications || []).each(&:close)
    @server&.stop
    super
  end

  test "a broker that is down at the start is one log line; the application consumes once it is up, and after its restart" do
    @server = Penstock::TestSupport::KafkaServer.new(jvm: Penstock::TestSupport::KafkaServer::TEST_JVM)
    application = start(@server.bootstrap_servers, to: topic = unique("orders"))
    application.line(NOT_THERE)
    told = now
    @server.start

    assert_told_once(application, since: told)
    create(topic)
    assert_consumes(application, topic, "after the start")
    assert_survives_restart(application, topic)
    assert_equal 0, application.stop.exitstatus
  end

  test "a wrong port is one log line; the application keeps trying until a stop, and stops at once" do
    application = start("127.0.0.1:#{Penstock::TestSupport::FreePort.take.first}", to: "orders")
    application.line(NOT_THERE)
    observe_for(3)

    assert_equal 1, application.complaints.size, application.complaints.join
    assert_predicate application, :running?
    assert_equal 0, application.stop(5).exitstatus
  end

  test "a host name that can't be resolved is one log line that points to bootstrap.servers" do
    application = start("nowhere.invalid:9092", to: "orders")

    assert_match(/no connection to nowhere\.invalid:9092, DNS failed: .*bootstrap\.servers/, application.line(/no connection/))
    observe_for(2)
    assert_equal 1, application.complaints.size, application.complaints.join
  end

  test "an unknown topic is one log line; it is consumed as soon as it exists" do
    application = start(bootstrap_servers, to: topic = unique("later"))
    application.line(/topic #{topic} \(group .*\) doesn't exist, or .*; it is consumed as soon as it exists/)
    observe_for(3)

    assert_equal 1, application.complaints.size, application.complaints.join
    create(topic)
    assert_consumes(application, topic, "first")
  end

  test "a pattern without a matching topic is no warning; a topic that matches is consumed as soon as it exists" do
    name = unique("aud")
    application = start(bootstrap_servers, pattern: "^#{name}")
    application.line(/running/)
    observe_for(4)

    assert_empty application.complaints
    create("#{name}-log")
    assert_consumes(application, "#{name}-log", "first")
  end

  private

  # Topics are looked up often, and never created by a lookup.
  def start(servers, **plan)
    settings = {"bootstrap.servers" => servers, "allow.auto.create.topics" => "false",
                "topic.metadata.refresh.interval.ms" => "1000"}
    Penstock::TestSupport::KafkaSecurityProcess.new(settings, **plan).tap { |one| @applications << one }
  end

  def servers = {"bootstrap.servers" => @server ? @server.bootstrap_servers : bootstrap_servers}

  def create(topic)
    admin = Penstock::Native::Admin.new(servers)
    admin.create_topics([[topic, 1, 1, {}]], 20_000)
  ensure
    admin&.close
  end

  def assert_consumes(application, topic, payload)
    producer = Penstock::Native::Producer.new(servers)
    producer.produce(topic, payload, handle: false)

    assert producer.flush(20_000)
    assert application.wait_for(payload)
  ensure
    producer&.close(5_000)
  end

  # The line is repeated after half a minute, and a busy machine's broker may need that long.
  def assert_told_once(application, since:)
    assert_includes 1..(1 + ((now - since + 1) / 30).floor), application.complaints.grep(NOT_THERE).size,
      application.complaints.join
  end

  def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

  def assert_survives_restart(application, topic)
    told, began = application.complaints.grep(NOT_THERE).size, now
    @server.stop(keep: true)
    @server.start

    assert_consumes(application, topic, "after the restart")
    assert_operator application.complaints.grep(NOT_THERE).size, :<=, told + 1 + ((now - began) / 30).floor
    assert_empty application.lines.grep(/ (ERROR|FATAL) -- /)
  end
end
