# frozen_string_literal: true

module Penstock
  # The parts of a consumer; applications inherit from {BaseConsumer}.
  class Consumer
    # Short labels of a consumer, shown with its jobs in logs and pages: `tags.add(:tenant, "acme")`.
    class Tags
      include Enumerable

      def initialize
        @tags = {}
      end

      # @param name [Symbol] an existing label of that name is replaced
      # @param value [#to_s]
      def add(name, value) = @tags[name] = value.to_s

      # @param names [Array<Symbol>]
      def delete(*names) = names.each { |name| @tags.delete(name) }

      # Removes all.
      def clear = @tags.clear
      # @yieldparam tag [String]
      def each(&) = @tags.each_value(&)
      # @return [Array<String>]
      def to_a = @tags.values
    end
  end
end
