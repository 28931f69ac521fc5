# frozen_string_literal: true

require "fileutils"
require "openssl"
require "tmpdir"

module Penstock
  module TestSupport
    # Makes an authority, a broker's certificate for 127.0.0.1 and a client's, and a second authority that signed
    # neither. They are made again for each run, in a temporary folder that {#remove} deletes, and are valid for an
    # hour.
    class KafkaCertificates
      VALID_S = 3_600
      KEY_PASSWORD = "canary-of-the-key-7c1d"
      CLIENT = "penstock-client"

      # @return [String] the folder
      attr_reader :dir

      def initialize
        @dir = Dir.mktmpdir("penstock-certificates")
        @serial = 0
        @authority = authority("Penstock test authority")
        write("ca.pem", @authority.first.to_pem)
        write("other-ca.pem", authority("another authority").first.to_pem)
        broker
        client
      end

      # @param name [String] `ca.pem`, `other-ca.pem`, `broker.pem` (key and certificate), `client.pem`, `client.key`
      #   (encrypted with KEY_PASSWORD)
      # @return [String]
      def path(name) = File.join(@dir, name)

      # @return [void]
      def remove = FileUtils.remove_entry(@dir)

      private

      def broker
        certificate, key = signed("localhost", "subjectAltName" => "IP:127.0.0.1,DNS:localhost",
          "extendedKeyUsage" => "serverAuth")
        write("broker.pem", key.private_to_pem + certificate.to_pem)
      end

      def client
        certificate, key = signed(CLIENT, "extendedKeyUsage" => "clientAuth")
        write("client.pem", certificate.to_pem)
        write("client.key", key.private_to_pem(OpenSSL::Cipher.new("aes-256-cbc"), KEY_PASSWORD))
      end

      def authority(name)
        key = new_key
        certificate = certificate(name, key)
        certificate.issuer = certificate.subject
        extend_with(certificate, certificate, "basicConstraints" => "CA:TRUE", "keyUsage" => "keyCertSign,cRLSign",
          "subjectKeyIdentifier" => "hash")
        [certificate.sign(key, "SHA256"), key]
      end

      def signed(name, extensions)
        issuer, issuer_key = @authority
        key = new_key
        certificate = certificate(name, key)
        certificate.issuer = issuer.subject
        extend_with(certificate, issuer, "basicConstraints" => "CA:FALSE", **extensions)
        [certificate.sign(issuer_key, "SHA256"), key]
      end

      def new_key = OpenSSL::PKey::EC.generate("prime256v1")

      def certificate(name, key)
        OpenSSL::X509::Certificate.new.tap do |certificate|
          certificate.version = 2
          certificate.serial = @serial += 1
          certificate.subject = OpenSSL::X509::Name.new([["CN", name]])
          certificate.public_key = key
          certificate.not_before = Time.now - 60
          certificate.not_after = Time.now + VALID_S
        end
      end

      def extend_with(certificate, issuer, extensions)
        factory = OpenSSL::X509::ExtensionFactory.new(issuer, certificate)
        extensions.each { |name, value| certificate.add_extension(factory.create_extension(name, value)) }
      end

      def write(name, text)
        File.write(path(name), text, perm: 0o600)
      end
    end
  end
end
