# frozen_string_literal: true

module Penstock
  module Config
    # A Hash of librdkafka's properties that never prints a secret.
    class KafkaHash < Hash
      SECRET = /password|passphrase|secret|key\.pem|oauthbearer\.config|jaas/
      MASK = "[hidden]"

      # @param name [String, Symbol]
      # @return [Boolean] whether the value of this property must not be shown
      def self.secret?(name)
        SECRET.match?(name.to_s)
      end

      # @param hash [Hash, nil]
      # @return [KafkaHash] a copy
      def self.from(hash)
        new.update(hash || {})
      end

      # @return [Hash] a plain copy with secrets masked
      def masked
        to_h { |name, value| [name, self.class.secret?(name) ? MASK : value] }
      end

      def inspect
        masked.inspect
      end
      alias_method :to_s, :inspect

      # `pp` would otherwise print the contents.
      def pretty_print(printer)
        printer.pp_hash(masked)
      end
    end
  end
end
