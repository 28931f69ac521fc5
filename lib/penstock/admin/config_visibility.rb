# frozen_string_literal: true

module Penstock
  class Admin
    # Whether the changes of a topic's settings are visible: the controller acknowledges them before the other brokers have
    # applied them. Stateless.
    module ConfigVisibility
      # @param described [Configs::Resource] as a broker describes it now
      # @param changed [Configs::Resource] with its operations
      # @return [Boolean]
      def self.visible?(described, changed)
        changed.operations.all? do |operation, setting, value|
          config = described.configs.find { |one| one.name == setting }
          config.nil? || config.sensitive? || done?(operation, config, value)
        end
      end

      def self.done?(operation, config, value)
        there = parts(config.value)
        case operation
        when :set then there == parts(value)
        when :delete then config.source != :topic
        when :append then (parts(value) - there).empty?
        else (parts(value) & there).empty?
        end
      end
      private_class_method :done?

      # Brokers describe a value in their own form: `0.50` as `0.5`, `TRUE` as `true`, lists without spaces.
      def self.parts(value)
        value.to_s.split(",").map { |part| Float(part, exception: false) || part.strip.downcase }.uniq
      end
      private_class_method :parts
    end
  end
end
