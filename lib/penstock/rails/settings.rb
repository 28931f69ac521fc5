# frozen_string_literal: true

require_relative "../errors"
require_relative "../monitors/error_tracker"
require_relative "../nearest"

module Penstock
  module OnRails
    # The settings of the integration, `config.penstock` of a Rails application. Written while Rails boots, then read by any
    # thread.
    class Settings
      # A setting: its default, a description of its values, and their check.
      Setting = Struct.new(:default, :words, :check)

      FLAG = [true, false, nil].freeze
      LIST = {
        report: Setting.new(:first_and_last, ":first_and_last or :each", Monitors::ErrorTracker::REPORTS.method(:include?)),
        log_to_terminal: Setting.new(nil, "true, false or nil (in development)", ->(value) { FLAG.include?(value) }),
        current_attributes: Setting.new([].freeze, "an Array with names of classes, such as %w[Current]",
          ->(value) { value.is_a?(Array) && value.all?(String) }),
        current_attributes_for_karafka: Setting.new(false, "true or false", ->(value) { [true, false].include?(value) })
      }.freeze
      private_constant :Setting, :FLAG, :LIST

      # @!attribute [rw] report
      #   @return [Symbol] which errors of a record are reported to `Rails.error`: `:first_and_last` (those of its first attempt
      #     and the one after which it isn't retried) or `:each`
      # @!attribute [rw] log_to_terminal
      #   @return [Boolean, nil] whether `penstock server` also writes the log to its standard output; nil: in development
      # @!attribute [rw] current_attributes
      #   @return [Array<String>] names of the `CurrentAttributes` classes whose values jobs take with them
      # @!attribute [rw] current_attributes_for_karafka
      #   @return [Boolean] whether jobs carry these values for processes that run Karafka, too
      LIST.each do |name, setting|
        define_method(name) { @values.fetch(name, setting.default) }
        define_method(:"#{name}=") { |value| set(name, setting, value) }
      end

      def initialize
        @values = {}
      end

      # @param names [Array<Symbol>]
      # @return [Hash{Symbol => Object}] those of them that were set
      def given(*names) = @values.slice(*names)

      private

      def set(name, setting, value)
        unless setting.check.call(value)
          raise ConfigurationError.new([Problem.new("config.penstock.#{name}", "must be #{setting.words}, is " \
            "#{value.inspect[0, 80]}")])
        end
        @values[name] = value
      end

      def method_missing(name, *arguments)
        return super unless name.match?(/\A[a-z]\w*=?\z/) && arguments.size <= 1
        plain = name.to_s.delete_suffix("=")
        raise ConfigurationError.new([Problem.new("config.penstock.#{plain}", "there is no such setting",
          Nearest.hint(plain, LIST.keys) || "It has #{LIST.keys.join(", ")}; settings of Penstock itself are in its boot file")])
      end

      # Methods that only raise an error don't count as existing.
      def respond_to_missing?(name, all = false) = super
    end
  end
end
