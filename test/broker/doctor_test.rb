# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../support/command_line"
require_relative "../support/free_port"
require_relative "../support/kafka_server"

# The steps of `penstock doctor --connect` that only a real broker has: login and access control.
class DoctorOnBrokerTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  class << self
    attr_reader :port

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

  test "a user without rights passes SASL and fails at the topic and the group, with what to grant" do
    result = doctor("right")

    assert_equal 1, result.code
    assert_equal "ok", steps(result, "SASL").first["state"], result.out
    topic, group = steps(result, "topic orders", "group readers")
    assert_equal %w[failed failed], [topic["state"], group["state"]]
    assert_includes topic["hint"], "DESCRIBE"
    assert_includes group["hint"], "READ"
  end

  test "a plain connection to a SASL listener fails at Kafka and asks for the protocol" do
    result = penstock("doctor", "--connect", "--json", "--bootstrap", "127.0.0.1:#{self.class.port}")

    assert_equal 1, result.code
    assert_equal %w[ok failed], steps(result, "TCP", "Kafka").map { |step| step["state"] }
    assert_includes steps(result, "Kafka").first["hint"], "security.protocol"
  end

  private

  def doctor(password)
    write("penstock.rb", <<~RUBY)
      require "penstock"
      class PenstockApp < Penstock::App
        setup do |config|
          config.group_id = "readers"
          config.kafka = {
            "bootstrap.servers": "127.0.0.1:#{self.class.port}", "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "PLAIN", "sasl.username": "app", "sasl.password": "#{password}"
          }
        end
        routes.draw { topic(:orders) { consumer(Class.new(Penstock::BaseConsumer) { def consume = nil }) } }
      end
    RUBY
    penstock("doctor", "--connect", "--json")
  end

  def steps(result, *names)
    all = JSON.parse(result.out).to_h { |step| [step["name"], step] }
    names.map { |name| all.fetch(name) }
  rescue JSON::ParserError
    flunk "no JSON: #{result.out} #{result.err}"
  end
end
