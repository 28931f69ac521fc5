# frozen_string_literal: true

require_relative "child"
require_relative "kafka_certificates"
require_relative "kafka_server"

module Penstock
  module TestSupport
    # A real broker with four listeners: plain text, SCRAM-SHA-512 over TLS, TLS with a client certificate (mTLS), and
    # OAUTHBEARER with unsigned tokens. One user; certificates of its own. The test that starts it stops it.
    class KafkaSecurity
      USER = "app"
      PASSWORD = "canary-of-the-password-5e2a"

      attr_reader :server, :certificates

      def initialize
        @certificates = KafkaCertificates.new
        plain, @scram, @mtls, @oauth = FreePort.take(4)
        @server = KafkaServer.new(port: plain, listeners: listeners, extra: {**scram, **mtls, **oauth},
          format: ["--add-scram", "SCRAM-SHA-512=[name=#{USER},password=#{PASSWORD}]"], jvm: KafkaServer::TEST_JVM)
      end

      def start = @server.start

      # Ends the broker and removes the certificates.
      def stop
        @server.stop
        @certificates.remove
      end

      # Sets the password of a user, new or existing, as an administrator does.
      def set_password(user, password)
        command = ["java", *KafkaServer.quick(KafkaServer::QUICK_JVM), "-cp", File.join(KafkaServer.home, "libs/*"),
          "kafka.admin.ConfigCommand", "--bootstrap-server", @server.bootstrap_servers, "--alter", "--entity-type", "users",
          "--entity-name", user, "--add-config", "SCRAM-SHA-512=[password=#{password}]"]
        result = Child.run(command, timeout: 60, out: File::NULL, err: File::NULL)
        raise "the password could not be set: #{result}" unless result.success?
      end

      # @return [Hash{String => String}] librdkafka's settings for SCRAM over TLS
      def scram_settings(**changed)
        {"bootstrap.servers" => "127.0.0.1:#{@scram}", "security.protocol" => "sasl_ssl", "sasl.mechanisms" => "SCRAM-SHA-512",
         "sasl.username" => USER, "sasl.password" => PASSWORD, "ssl.ca.location" => @certificates.path("ca.pem"),
         **changed.transform_keys(&:to_s)}
      end

      # @return [Hash{String => String}] for mTLS
      def mtls_settings(**changed)
        {"bootstrap.servers" => "127.0.0.1:#{@mtls}", "security.protocol" => "ssl",
         "ssl.ca.location" => @certificates.path("ca.pem"), "ssl.certificate.location" => @certificates.path("client.pem"),
         "ssl.key.location" => @certificates.path("client.key"), "ssl.key.password" => KafkaCertificates::KEY_PASSWORD,
         **changed.transform_keys(&:to_s)}
      end

      # @return [Hash{String => String}] for tokens
      def oauth_settings
        {"bootstrap.servers" => "127.0.0.1:#{@oauth}", "security.protocol" => "sasl_plaintext",
         "sasl.mechanisms" => "OAUTHBEARER"}
      end

      private

      def listeners
        {"SCRAM" => [@scram, "SASL_SSL"], "MTLS" => [@mtls, "SSL"], "OAUTH" => [@oauth, "SASL_PLAINTEXT"]}
          .map { |name, (port, protocol)| KafkaProperties::Listener.new(name: name, port: port, protocol: protocol) }
      end

      def scram
        {"listener.name.scram.sasl.enabled.mechanisms" => "SCRAM-SHA-512",
         "listener.name.scram.scram-sha-512.sasl.jaas.config" =>
           "org.apache.kafka.common.security.scram.ScramLoginModule required;", **tls("scram")}
      end

      def mtls
        {**tls("mtls"), "listener.name.mtls.ssl.client.auth" => "required"}
      end

      def tls(listener)
        {"ssl.keystore.type" => "PEM", "ssl.keystore.location" => @certificates.path("broker.pem"),
         "ssl.truststore.type" => "PEM", "ssl.truststore.location" => @certificates.path("ca.pem")}
          .transform_keys { |name| "listener.name.#{listener}.#{name}" }
      end

      def oauth
        {"listener.name.oauth.sasl.enabled.mechanisms" => "OAUTHBEARER",
         "listener.name.oauth.oauthbearer.sasl.jaas.config" =>
           "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required " \
           "unsecuredLoginStringClaim_sub=\"broker\";"}
      end
    end
  end
end
