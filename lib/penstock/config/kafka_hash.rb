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

      # Ruby's methods for a part of a Hash return a plain Hash, which would print the secrets.
      %i[select filter reject slice except compact transform_keys transform_values].each do |name|
        define_method(name) do |*arguments, &block|
          part = super(*arguments, &block)
          part.is_a?(Hash) ? self.class.from(part) : part
        end
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
