# frozen_string_literal: true

require_relative "properties"

module Penstock
  module Config
    # Checks of properties that librdkafka doesn't make before it connects: it reads the digits at the beginning of a number and
    # ignores the rest, so that "10s" would be 10 ms. Shared by the checks of an application and of a producer. Stateless.
    module PropertyValues
      UNITS_MS = {"ms" => 1, "s" => 1_000, "sec" => 1_000, "second" => 1_000, "m" => 60_000, "min" => 60_000,
                  "minute" => 60_000, "h" => 3_600_000, "hour" => 3_600_000}.freeze
      UNITS_BYTES = {"b" => 1, "byte" => 1, "k" => 1_024, "kb" => 1_024, "kib" => 1_024, "m" => 1_024**2, "mb" => 1_024**2,
                     "mib" => 1_024**2}.freeze
      INTEGER = /\A[+-]?(?:0|[1-9]\d*)\z/
      FLOAT = /\A[+-]?\d+(?:\.\d+)?\z/
      AMOUNT = /\A\s*(\d[\d_]*(?:\.\d+)?(?:e\d+)?)\s*([a-z]*)\s*\z/i
      ACKS = "request.required.acks"
      MECHANISMS = %w[sasl.mechanism sasl.mechanisms].freeze
      CHOICE = 'Write "sasl.mechanism": "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER" or "GSSAPI" (Kerberos)'
      private_constant :UNITS_MS, :UNITS_BYTES, :INTEGER, :FLOAT, :AMOUNT, :ACKS, :MECHANISMS, :CHOICE

      class << self
        # @param name [String, Symbol] a property
        # @param value [Object] as the user wrote it
        # @return [Array(String, String), nil] what is wrong with it if it must be a number and isn't, and the way out
        def number(name, value)
          type = Properties.type(name)
          return if !%i[integer float].include?(type) || fits?(type, name, value.to_s.strip)

          ["must be #{wanted(type, name)}, is #{value.inspect[0, 80]}", way_out(type, name, value)]
        end

        # Without a mechanism librdkafka uses Kerberos, which fails at each attempt to connect if it isn't configured; a user's
        # name is ignored.
        #
        # @param hash [Hash] properties as the user wrote them
        # @return [Array(String, String, String), nil] the property, what is wrong because no mechanism is set, and the way out
        def mechanism(hash)
          given = hash.to_h { |name, value| [name.to_s, value.to_s] }
          return if given.keys.any? { |name| MECHANISMS.include?(name) || name.start_with?("sasl.kerberos.") }

          protocol = given["security.protocol"].to_s
          return ["security.protocol", "#{protocol} needs sasl.mechanism, which is missing", CHOICE] if sasl?(protocol)
          return if given["sasl.username"].to_s.empty?

          ["sasl.username", "has no effect: neither sasl.mechanism nor a security.protocol with SASL is set",
            "#{CHOICE}, and \"security.protocol\": \"sasl_ssl\" or \"sasl_plaintext\"; or remove it"]
        end

        private

        def sasl?(protocol) = protocol.downcase.start_with?("sasl_")

        def fits?(type, name, text)
          ((type == :float) ? FLOAT : INTEGER).match?(text) || (acks?(name) && text == "all")
        end

        def acks?(name) = Properties.canonical(name) == ACKS

        def wanted(type, name)
          return "\"all\" or an Integer" if acks?(name)

          [(type == :float) ? "a number" : "an Integer", ("(#{unit(name)})" if unit(name))].compact.join(" ")
        end

        def unit(name)
          case name.to_s
          when /\.ms\z/, "broker.address.ttl" then "milliseconds"
          when /\.kbytes\z/ then "KiB"
          when /bytes\z/, "batch.size" then "bytes"
          end
        end

        def way_out(type, name, value)
          return "Remove it to use the default" if value.to_s.strip.empty?
          return 'Write "all"' if acks?(name)

          number = amount(name, value.to_s)
          "Write #{grouped(number)}" if number && (type == :float || number == number.to_i)
        end

        # The number that was probably meant; nil if the text has a unit that isn't known.
        def amount(name, text)
          digits, unit = text.match(AMOUNT)&.captures
          unit = unit.to_s.downcase
          factor = unit.empty? ? 1 : units(name).values_at(unit, unit.delete_suffix("s")).compact.first
          Float(digits) * factor if digits && factor
        end

        def units(name)
          {"milliseconds" => UNITS_MS, "bytes" => UNITS_BYTES}.fetch(unit(name), {})
        end

        def grouped(number)
          return number.to_s unless number == number.to_i

          number.to_i.to_s.reverse.scan(/\d{1,3}/).join("_").reverse
        end
      end
    end
  end
end
