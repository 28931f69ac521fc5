# frozen_string_literal: true

require "test_helper"
require "penstock/errors"
require "penstock/instrumentation/connection_diagnosis"

class ClientTroubleTest < Penstock::TestCase
  # Messages of librdkafka 2.16, and the expected code, message, server, step and part of the hint.
  SEEN = [
    ["_TRANSPORT", "127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
      "127.0.0.1:1", "TCP", "check that the broker runs"],
    ["_TRANSPORT", "GroupCoordinator: kafka.example:9092: Connect to ipv4#10.0.0.5:9092 failed: Connection refused " \
                   "(after 2ms in state CONNECT, 1 identical error(s) suppressed)", "kafka.example:9092", "TCP", "broker runs"],
    ["_TRANSPORT", "kafka.example:9092/1: Connection setup timed out in state CONNECT (after 30028ms in state CONNECT)",
      "kafka.example:9092", "TCP", "firewall"],
    ["_RESOLVE", "nowhere.invalid:9092/bootstrap: Failed to resolve 'nowhere.invalid:9092': Name or service not known " \
                 "(after 0ms in state CONNECT)", "nowhere.invalid:9092", "DNS", "bootstrap.servers"],
    ["_SSL", "sasl_ssl://h:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: " \
             "broker certificate could not be verified (after 7ms in state SSL_HANDSHAKE)", "h:9093", "TLS", "ssl.ca.location"],
    ["_TRANSPORT", "ssl://h:9093/bootstrap: Receive failed: error:0A000412:SSL routines::sslv3 alert bad certificate: SSL " \
                   "alert number 42 (after 7ms in state APIVERSION_QUERY)", "h:9093", "TLS", "ssl.certificate.location"],
    ["_TRANSPORT", "sasl_ssl://h:9092/bootstrap: SSL handshake failed: Disconnected: SSL connection closed by peer: connecting " \
                   "to a PLAINTEXT broker listener? (after 1ms in state SSL_HANDSHAKE)", "h:9092", "TLS", "speaks no TLS"],
    ["_SSL", "ssl://h:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker " \
             "certificate could not be verified, verify that ssl.ca.location is correctly configured: hostname mismatch " \
             "(after 7ms in state SSL_HANDSHAKE)", "h:9093", "TLS", "another name"],
    ["_SSL", "ssl://h:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker " \
             "certificate could not be verified, verify that ssl.ca.location is correctly configured: certificate has expired " \
             "(after 7ms in state SSL_HANDSHAKE)", "h:9093", "TLS", "has expired: renew it"],
    ["_SSL", "ssl://h:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker " \
             "certificate could not be verified, verify that ssl.ca.location is correctly configured: certificate is not yet " \
             "valid (after 7ms in state SSL_HANDSHAKE)", "h:9093", "TLS", "isn't valid yet: check this machine's clock"],
    ["_AUTHENTICATION", "sasl_plaintext://h:9092/bootstrap: SASL PLAIN mechanism handshake failed: Broker: Request not " \
                        "valid in current SASL state: broker's supported mechanisms:  (after 87ms in state AUTH_HANDSHAKE)",
      "h:9092", "SASL", "this listener speaks no SASL: use the port of the broker's SASL listener"],
    ["_AUTHENTICATION", "sasl_ssl://h:9093/bootstrap: SASL authentication error: Authentication failed during authentication " \
                        "due to invalid credentials with SASL mechanism SCRAM-SHA-512 (after 301ms in state AUTH_REQ)",
      "h:9093", "SASL", "sasl.password"],
    ["_AUTHENTICATION", "sasl_ssl://h:9093/bootstrap: SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL " \
                        "mechanism: broker's supported mechanisms: SCRAM-SHA-512 (after 3ms in state AUTH_HANDSHAKE)",
      "h:9093", "SASL", "sasl.mechanisms to one"],
    ["_AUTHENTICATION", "Failed to acquire SASL OAUTHBEARER token: IOError: the listener raised", nil, "SASL", "token"],
    ["_AUTHENTICATION", "sasl_plaintext://h:9096/1: SASL authentication error: {\"status\":\"invalid_token\"} (after 4ms in " \
                        "state AUTH_REQ)", "h:9096", "SASL", "check the token that the OAuth token listener " \
                                                     "provides: its signature"],
    ["_SSL", "ssl://h:9095/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker " \
             "certificate could not be verified, verify that ssl.ca.location is correctly configured or root CA certificates " \
             "are installed (install ca-certificates package) (after 7ms in state SSL_HANDSHAKE)", "h:9095", "TLS",
      "or it is for another name: `penstock doctor --connect` shows which"],
    ["_TRANSPORT", "ssl://h:9094/bootstrap: Receive failed: error:0A000416:SSL routines::sslv3 alert certificate unknown: " \
                   "SSL alert number 46 (after 7ms in state APIVERSION_QUERY)", "h:9094", "TLS",
      "that the certificate is valid today"],
    ["_ALL_BROKERS_DOWN", "h:9093/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN " \
                          "(after 5ms in state APIVERSION_QUERY)", "h:9093", "Kafka", "as a TLS or SASL listener does"]
  ].freeze

  test "every kind of failure has a step, a server and a hint" do
    SEEN.each do |code, message, server, step, hint|
      trouble = trouble(code, message)

      assert_equal [server, step], [trouble.server, trouble.step], message
      assert_includes trouble.hint, hint, message
      refute_match(/after \d+ms|bootstrap:|\n/, trouble.to_s)
    end
  end

  test "the address is shown if the name isn't one" do
    assert_equal "no connection to 127.0.0.1:1, TCP failed: Connection refused. Nothing listens there: check that the broker " \
                 "runs and that this is its port.", trouble(*SEEN[0].first(2)).to_s
    assert_equal "10.0.0.5:9092: Connection refused", trouble(*SEEN[1].first(2)).text
  end

  test "other errors are not changed" do
    assert_nil trouble("UNKNOWN_TOPIC_OR_PART", "Subscribed topic not available: t")
    assert_nil trouble("_ALL_BROKERS_DOWN", "1/1 brokers are down")
    assert_nil trouble("_TRANSPORT", nil)
    assert_nil Penstock::Instrumentation::ConnectionDiagnosis.of(IOError.new("gone"))
  end

  private

  def trouble(code, message)
    Penstock::Instrumentation::ConnectionDiagnosis.of(Penstock::KafkaError.build(number: -1, name: code, message: message))
  end
end
