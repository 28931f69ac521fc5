# frozen_string_literal: true

require_relative "../config/types"

module Penstock
  module Routing
    # The type of `consumer`: a class with `consume`.
    class ConsumerClass
      def coerce(value)
        (value.is_a?(Class) && consumes?(value)) ? value : Config::Types::INVALID
      end

      def to_s
        "a class with a method `consume`, such as a subclass of Penstock::BaseConsumer"
      end

      private

      # Hooks may be private.
      def consumes?(type)
        type.method_defined?(:consume) || type.private_method_defined?(:consume)
      end
    end
  end
end
