# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/native/producer"
require_relative "../support/child"
require_relative "../support/command_line"
require_relative "../support/free_port"
require_relative "../support/kafka_server"

# The steps of `penstock doctor --connect` that only a real broker has: login and access control.
class DoctorOnBrokerTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  class << self
    attr_reader :port, :server

    def before_all
      return if Penstock::TestSupport::KafkaServer.obstacle

      @port = Penstock::TestSupport::FreePort.take.first
      listener = Penstock::TestSupport::KafkaProperties::Listener.new(name: "SASL", port: @port, protocol: "SASL_PLAINTEXT")
      server = Penstock::TestSupport::KafkaServer
      @server = server.new(listeners: [listener], jvm: server::TEST_JVM, extra: {
        "sasl.enabled.mechanisms" => "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config" =>
          'org.apache.kafka.common.security.plain.PlainLoginModule required user_app="right";',
        "authorizer.class.name" => "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users" => "User:ANONYMOUS"
      })
      @server.start
    end

    def after_all
      @server&.stop
    end
  end

  def setup
    super
    obstacle = Penstock::TestSupport::KafkaServer.obstacle
    skip obstacle if obstacle
  end

  test "a wrong password fails at SASL, after DNS and TCP, and points to the settings" do
    result = doctor("wrong")

    assert_equal 1, result.code
    assert_equal %w[ok ok failed], steps(result, "DNS", "TCP", "SASL").map { |step| step["state"] }
    assert_includes steps(result, "SASL").first["hint"], "sasl.password"
    refute_includes result.out, "wrong"
  end

  test "a user without rights passes SASL and fails at the topic and the group, and the doctor lists what to grant" do
    result = doctor("right")

    assert_equal 1, result.code
    assert_equal "ok", steps(result, "SASL").first["state"], result.out
    topic, group = steps(result, "topic orders", "group readers")
    assert_equal %w[failed failed], [topic["state"], group["state"]]
    assert_includes topic["hint"], "DESCRIBE"
    assert_includes group["hint"], "READ"
  end

  test "a user who may see topic and group, and neither read nor join them, fails at both" do
    make("seen")
    grant("--topic", "seen", "--group", "lookers", operation: "DESCRIBE")
    result = doctor("right", topic: "seen", group: "lookers")

    assert_equal 1, result.code
    topic, group = steps(result, "topic seen", "group lookers")
    assert_equal ["grant READ on the topic to this user", "grant READ on the group to this user"], [topic["hint"], group["hint"]]
    grant("--topic", "seen", "--group", "lookers")

    assert_equal 0, (result = doctor("right", topic: "seen", group: "lookers")).code, result.out
  end

  test "dead letters are read with rights on their topic and on penstock-dead, and on no other group" do
    make("letters")
    grant("--topic", "letters", "--group", "penstock-dead")
    doctor("right") # whose boot file is used
    [%w[dead list letters], %w[dead drop letters --everything --yes], %w[dead list letters --all]].each do |command|
      result = penstock(*command, "--timeout", "20")

      assert_equal 0, result.code, "#{command.join(" ")}: #{result.out} #{result.err}"
      assert_match(/^dropped 1|^ +0 +0 /, result.out)
    end
  end

  test "a plaintext connection to a SASL listener fails at Kafka, and the doctor points to the protocol setting" do
    result = penstock("doctor", "--connect", "--json", "--bootstrap", "127.0.0.1:#{self.class.port}")

    assert_equal 1, result.code
    assert_equal %w[ok failed], steps(result, "TCP", "Kafka").map { |step| step["state"] }
    assert_includes steps(result, "Kafka").first["hint"], "security.protocol"
  end

  private

  def doctor(password, topic: "orders", group: "readers")
    write("penstock.rb", <<~RUBY)
      require "penstock"
      class PenstockApp < Penstock::App
        setup do |config|
          config.group_id = "#{group}"
          config.kafka = {
            "bootstrap.servers": "127.0.0.1:#{self.class.port}", "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "PLAIN", "sasl.username": "app", "sasl.password": "#{password}"
          }
        end
        routes.draw { topic(:#{topic}) { consumer(Class.new(Penstock::BaseConsumer) { def consume = nil }) } }
      end
    RUBY
    penstock("doctor", "--connect", "--json")
  end

  # A topic with one message, written by a user with all rights.
  def make(topic)
    producer = Penstock::Native::Producer.new({"bootstrap.servers" => self.class.server.bootstrap_servers})
    producer.produce(topic, "1", partition: 0, handle: false)

    assert producer.flush(30_000)
  ensure
    producer&.close(5_000)
  end

  # Grants rights as an administrator does.
  def grant(*what, operation: "READ")
    command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp",
      File.join(Penstock::TestSupport::KafkaServer.home, "libs/*"), "org.apache.kafka.tools.AclCommand", "--bootstrap-server",
      self.class.server.bootstrap_servers, "--add", "--force", "--allow-principal", "User:app", "--operation", operation,
      *what]
    result = Penstock::TestSupport::Child.run(command, timeout: 60, out: File::NULL, err: File::NULL)

    assert_predicate result, :success?
  end

  def steps(result, *names)
    all = JSON.parse(result.out).to_h { |step| [step["name"], step] }
    names.map { |name| all.fetch(name) }
  rescue JSON::ParserError
    flunk "no JSON: #{result.out} #{result.err}"
  end
end
