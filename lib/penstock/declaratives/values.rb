# frozen_string_literal: true

module Penstock
  module Declaratives
    # Compares values of topic properties, which Kafka returns as text. Stateless.
    module Values
      # Properties whose value is a list in any order.
      LISTS = %w[cleanup.policy follower.replication.throttled.replicas leader.replication.throttled.replicas].freeze
      # For retention, "no limit".
      UNLIMITED = "-1"
      private_constant :LISTS

      # @param property [String]
      # @param present [String, nil]
      # @param declared [String]
      # @return [Boolean]
      def self.same?(property, present, declared)
        return false if present.nil?
        return items(present) == items(declared) if LISTS.include?(property)

        present == declared || (number(present) && number(present) == number(declared)) ||
          (%w[true false].include?(present) && present.casecmp?(declared)) || false
      end

      # @return [Array<String>] sorted
      def self.items(list) = list.split(",").map(&:strip).reject(&:empty?).sort

      # @param value [String, nil] `-1` for "no limit"
      # @return [Numeric, nil] nil if it isn't a number
      def self.limit(value) = (value == UNLIMITED) ? Float::INFINITY : number(value)

      def self.number(text)
        return Integer(text, 10) if text.to_s.match?(/\A-?\d+\z/)

        Float(text, exception: false)
      end
      private_class_method :number
    end
  end
end
