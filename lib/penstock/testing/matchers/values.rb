# frozen_string_literal: true

module Penstock
  module Testing
    module Matchers
      # Compares expected with actual values: by `===`, also inside of Arrays and Hashes, so that classes, ranges, regular
      # expressions and RSpec's argument matchers may stand anywhere. Stateless.
      module Values
        # Stands for a value that a test doesn't expect anything of.
        ANY = Object.new
        def ANY.===(_other) = true
        def ANY.inspect = "anything"
        ANY.freeze

        module_function

        # @param expected [Object]
        # @return [String, nil] the description of an RSpec matcher
        def described(expected) = (expected.description if expected.respond_to?(:matches?) && expected.respond_to?(:description))

        # @param expected [Object]
        # @param actual [Object]
        # @return [Boolean]
        def match?(expected, actual)
          case expected
          when Hash then actual.is_a?(Hash) && expected.size == actual.size && include?(expected, actual)
          when Array then actual.is_a?(Array) && expected.size == actual.size && expected.zip(actual).all? { |pair|
            match?(*pair)
          }
          when String then actual.is_a?(String) && expected.b == actual.b
          else expected === actual || expected == actual
          end
        end

        # @param expected [Hash, Object] anything but a Hash is compared as a whole
        # @param actual [Hash]
        # @return [Boolean] whether the actual Hash has at least these
        def include?(expected, actual)
          return match?(expected, actual) unless expected.is_a?(Hash)

          expected.all? { |name, value| actual.key?(name) && match?(value, actual[name]) }
        end
      end
    end
  end
end
