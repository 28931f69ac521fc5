# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Explains a failed connection to the person who has to fix it: the server, the step (DNS, TCP, TLS, SASL, Kafka),
    # the error, and what to check. Built from the client library's error; {.of} returns nil for errors about something
    # else.
    #
    # The library's texts name servers, mechanisms and files, never a password or a key; nothing else is added here.
    class ConnectionDiagnosis
      # Codes of the client library for connection errors.
      CODES = %i[transport resolve ssl authentication all_brokers_down timed_out].freeze

      # The library's messages contain the state of the connection; each state belongs to a step.
      STATES = {"CONNECT" => "TCP", "SSL_HANDSHAKE" => "TLS", "APIVERSION_QUERY" => "Kafka"}.freeze

      # Texts that identify a step without the state.
      SIGNS = [
        [/failed to resolve/i, "DNS"],
        [/OAUTHBEARER|SASL/, "SASL"],
        [/SSL|TLS|certificate/, "TLS"]
      ].freeze

      # The first bytes of "HTTP/1.1", taken for the size of an answer; the library's advice to accept larger ones would be wrong.
      HTTP = /Receive failed: Invalid response size 1213486160/
      ADVICE = /: increase receive\.message\.max\.bytes/

      # Step, pattern, hint. The first match is used.
      HINTS = [
        ["DNS", //, "check the spelling in bootstrap.servers, and whether this machine is on the right network"],
        ["TCP", /refused/i, "nothing listens there: check that the broker runs and that this is its port"],
        ["TCP", //, "packets don't get through: check address, firewall and routes"],
        ["TLS", /hostname|does not match/i,
          "the certificate is for another name: connect by that name, or replace the certificate"],
        ["TLS", /certificate has expired/i,
          "the broker's certificate, or its authority's, has expired: renew it there, or correct this machine's clock"],
        ["TLS", /certificate is not yet valid/i,
          "the broker's certificate isn't valid yet: check this machine's clock and the broker's certificate"],
        ["TLS", /could not be verified|verify failed/i,
          "the broker's certificate isn't signed by an authority this machine trusts (set ssl.ca.location), or it is for " \
          "another name: `penstock doctor --connect` shows which"],
        ["TLS", /alert/i, "the broker wants a client certificate it trusts: set ssl.certificate.location and " \
                          "ssl.key.location, and check that the certificate is valid today"],
        ["TLS", /closed by peer|wrong version|unknown protocol|packet length|PLAINTEXT|no answer|unexpected eof/i,
          "this listener speaks no TLS: use the port of the broker's TLS listener, or a security.protocol without ssl"],
        ["TLS", /No such file/i, "ssl.ca.location, ssl.certificate.location or ssl.key.location names no file"],
        ["TLS", //, "check ssl.ca.location, ssl.certificate.location and ssl.key.location"],
        ["SASL", /not valid in current SASL state|supported mechanisms: *\z|Handshake not supported/i,
          "this listener speaks no SASL: use the port of the broker's SASL listener, or a security.protocol without sasl"],
        ["SASL", /mechanism.*supported|Unsupported SASL/i, "set sasl.mechanisms to one that this listener supports"],
        ["SASL", /OAUTHBEARER|invalid_token|"status" *:/, "check the token that the OAuth token listener provides: its " \
                                                          "signature, issuer, audience and time"],
        ["SASL", //, "check sasl.username, sasl.password and sasl.mechanisms"],
        ["Kafka", HTTP, "an HTTP server answers there, which is no Kafka broker: check the port"],
        ["Kafka", //, "the broker ends the connection at once, as a TLS or SASL listener does with a client that speaks " \
                      "neither: check that security.protocol is the one of this listener"]
      ].freeze

      UNEXPLAINED = %r{\A(?:\d+/\d+ brokers are down)?\z}
      SERVER = %r{(?:\A|//|: )(?<server>[^/:\s]+:\d+)}
      STATE = / \(after \d+ms in state (?<state>\w+).*\)\z/
      WHERE = %r{\A(?:\w+Coordinator: )?(?:\w+://)?[^/\s]+:\d+(?:/\S+)?: }
      CONNECT = /\AConnect to \w+#(?<address>\S+) failed: (?<why>.*)/
      private_constant :ADVICE, :HTTP, :WHERE, :CONNECT, :STATES, :SIGNS, :HINTS, :UNEXPLAINED, :SERVER, :STATE

      # @param error [Exception]
      # @return [ConnectionDiagnosis, nil]
      def self.of(error)
        return unless error.respond_to?(:code) && error.respond_to?(:broker_message)
        return unless CODES.include?(error.code) || http?(error)
        new(error.broker_message) unless UNEXPLAINED.match?(error.broker_message.to_s)
      end

      # @return [Boolean] whether an HTTP server has answered
      def self.http?(error) = error.code == :bad_msg && HTTP.match?(error.broker_message.to_s)
      private_class_method :http?

      # @param step [String] see {#step}
      # @param text [String] the error
      # @return [String] what to check
      def self.hint(step, text) = HINTS.find { |where, seen, _hint| where == step && seen.match?(text) }.last

      # @return [String] the library's message, without place and time
      attr_reader :text

      # @return [String, nil] host and port
      attr_reader :server

      # @param message [String] the library's
      def initialize(message)
        @server = message[SERVER, :server]
        @state = message[STATE, :state]
        @text = message.sub(STATE, "").sub(WHERE, "").sub(CONNECT) do
          "#{"#{$~[:address]}: " unless $~[:address] == @server}#{$~[:why]}"
        end
        @text = @text.sub(ADVICE, "") if HTTP.match?(@text)
      end

      # @return [String] "DNS", "TCP", "TLS", "SASL", "Kafka"
      def step
        @step ||= sign || STATES.fetch(@state.to_s) { @state.to_s.start_with?("AUTH") ? "SASL" : "Kafka" }
      end

      # @return [String]
      def hint = ConnectionDiagnosis.hint(step, @text)

      # @return [Boolean] whether it only reports that a connection ended, as it does when a broker is stopped
      def vague? = @text.start_with?("Disconnected") && step == "Kafka"

      # @return [String] one line
      def to_s
        "no connection#{" to #{@server}" if @server}, #{step} failed: #{sentence(@text)} #{sentence(hint.sub(/\A./, &:upcase))}"
      end

      private

      def sentence(text) = text.match?(/[.?!]\z/) ? text : "#{text}."

      def sign = SIGNS.find { |pattern, _step| pattern.match?(@text) }&.last
    end
  end
end
