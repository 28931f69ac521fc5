# frozen_string_literal: true

require "openssl"
require "socket"
require_relative "../../instrumentation/connection_diagnosis"
require_relative "step"

module Penstock
  module CLI
    module Doctor
      # Opens a TLS session with the settings librdkafka would use (`ssl.ca.location`, `ssl.certificate.location`, …)
      # and reports why it fails.
      class Tls
        LIMIT_S = 5
        # Time limit for a server to refuse the client's certificate.
        REFUSAL_S = 0.5

        # @param kafka [Hash{String => String}] librdkafka's settings
        def initialize(kafka)
          @kafka = kafka
        end

        # @return [Step]
        def step(host, port)
          outdated = outdated_certificate
          return outdated if outdated

          Socket.tcp(host, port, connect_timeout: LIMIT_S) do |socket|
            session = open_session(socket, host)
            await_refusal(session)
            certificate = session.peer_cert
            Step.ok("TLS", "#{session.ssl_version}, #{certificate.subject}, until #{certificate.not_after.strftime("%F")}")
          end
        rescue OpenSSL::OpenSSLError => error
          Step.failed("TLS", error.message, Instrumentation::ConnectionDiagnosis.hint("TLS", error.message))
        rescue SystemCallError, IOError => error
          Step.failed("TLS", error.message,
            "the server ended the session: check that this port speaks TLS, and whether it wants a client certificate")
        end

        private

        # Servers refuse a client's certificate without a reason.
        #
        # @return [Step, nil] nil if it is valid now, or there is none
        def outdated_certificate
          certificate = own_certificate or return
          wrong = "has expired on #{certificate.not_after.utc}" if certificate.not_after < Time.now
          wrong = "isn't valid before #{certificate.not_before.utc}" if certificate.not_before > Time.now
          return unless wrong

          Step.failed("TLS", "the client's certificate #{@kafka["ssl.certificate.location"]} #{wrong}",
            "renew it, or correct this machine's clock")
        rescue SystemCallError, OpenSSL::OpenSSLError
          nil # the handshake fails, with the reason
        end

        def own_certificate
          location = @kafka["ssl.certificate.location"]
          OpenSSL::X509::Certificate.new(File.read(location)) if location
        end

        # The sockets' own time limits bound the handshake: a server that sends nothing is a plain text listener.
        def open_session(socket, host)
          session = OpenSSL::SSL::SSLSocket.new(socket, settings)
          session.hostname = host unless host.match?(/\A[\d.:]+\z/)
          handshake(session)
          session.post_connection_check(host) if verify? && check_name?
          session
        end

        def handshake(session)
          result = session.connect_nonblock(exception: false)
          until result == session
            ready = (result == :wait_readable) ? session.to_io.wait_readable(LIMIT_S) : session.to_io.wait_writable(LIMIT_S)
            raise IOError, "no answer to the TLS greeting within #{LIMIT_S} s" unless ready

            result = session.connect_nonblock(exception: false)
          end
        end

        # With TLS 1.3 the client has finished before the server checks its certificate; a refusal arrives as an alert.
        def await_refusal(session)
          session.read_nonblock(1, exception: false) if session.to_io.wait_readable(REFUSAL_S)
        end

        def settings
          OpenSSL::SSL::SSLContext.new.tap do |context|
            context.verify_mode = verify? ? OpenSSL::SSL::VERIFY_PEER : OpenSSL::SSL::VERIFY_NONE
            context.cert_store = store
            add_certificate(context)
          end
        end

        def store
          OpenSSL::X509::Store.new.tap do |store|
            location = @kafka["ssl.ca.location"]
            next store.set_default_paths if location.nil? || location == "probe"

            File.directory?(location) ? store.add_path(location) : store.add_file(location)
          end
        end

        def add_certificate(context)
          certificate, key = @kafka.values_at("ssl.certificate.location", "ssl.key.location")
          return unless certificate && key

          context.cert = own_certificate
          context.key = OpenSSL::PKey.read(File.read(key), @kafka["ssl.key.password"].to_s)
        end

        def verify?
          @kafka["enable.ssl.certificate.verification"] != "false"
        end

        def check_name?
          @kafka["ssl.endpoint.identification.algorithm"] != "none"
        end
      end
    end
  end
end
