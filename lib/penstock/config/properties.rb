# frozen_string_literal: true

require_relative "../native/conf"
require_relative "kafka_hash"

module Penstock
  module Config
    # Looks up librdkafka's properties by name. The table is librdkafka's own, read once.
    module Properties
      # Scopes of the properties for each kind of client. Admin calls use a client that neither consumes nor produces.
      SCOPES = {consumer: %i[consumer both], producer: %i[producer both], admin: %i[both]}.freeze

      # Properties with a path to a file; a missing file would only show at the first connection.
      FILES = %w[ssl.key.location ssl.certificate.location ssl.ca.location https.ca.location ssl.crl.location
        ssl.keystore.location ssl.engine.location sasl.kerberos.keytab sasl.oauthbearer.assertion.private.key.file
        sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.jwt.template.file].freeze

      # Allowed values that librdkafka's table lists only in the property's description.
      RANGES = {
        "acks" => "all, -1 .. 1000",
        "request.required.acks" => "all, -1 .. 1000",
        "partitioner" => "random, consistent, consistent_random, murmur2, murmur2_random, fnv1a, fnv1a_random"
      }.freeze
      private_constant :RANGES

      class << self
        # @return [Boolean] whether librdkafka has a property of this name
        def known?(name)
          table.key?(name.to_s)
        end

        # @return [Array<String>]
        def names
          table.keys
        end

        # @return [String] the name itself, or the one it is an alias of
        def canonical(name)
          table[name.to_s]&.alias_of || name.to_s
        end

        # @return [Symbol, nil] one of {Native::Conf::Property::TYPES}; nil for an unknown property
        def type(name)
          table[name.to_s]&.type
        end

        # Unknown properties are for every client, so that one of them reports them.
        #
        # @param kind [:consumer, :producer, :admin]
        # @return [Boolean] whether the property applies to a client of this kind
        def for?(name, kind)
          property = table[name.to_s]
          property.nil? || SCOPES.fetch(kind).include?(property.scope)
        end

        # @return [String, nil] the allowed values of a property, as described by librdkafka
        def range(name)
          RANGES[name.to_s] || table[name.to_s]&.range
        end

        # @param message [String] librdkafka's, about a value that it refuses
        # @return [String, nil] the allowed values as a sentence, unless the message has them or is about several properties
        def allowed(name, message)
          values = range(name) if name
          "Allowed: #{values}" if values && message.start_with?("Invalid value", "Expected")
        end

        private

        def table
          Native::Conf.properties
        end
      end
    end
  end
end
