# frozen_string_literal: true

require_relative "../compat/karafka/settings"
require_relative "../errors"
require_relative "../nearest"
require_relative "default_logger"
require_relative "environment"
require_relative "kafka_hash"
require_relative "tolerant_block"
require_relative "schema"
require_relative "section"
require_relative "settings"

module Penstock
  module Config
    # Yielded by `setup { |config| … }`: records values without checking them. {#settings} builds the typed result. May
    # be used several times: later values win. Used by one thread at boot.
    class Builder
      # Settings that are a Hash have properties of librdkafka.
      HASH = 'Write {"bootstrap.servers": "localhost:9092"}, with the properties that you need'
      private_constant :HASH

      # @return [Environment]
      attr_reader :environment

      # @param environment [Environment]
      def initialize(environment: Environment.detect)
        @environment = environment
        @values = {}
        @unknown = {}
        @producer_blocks = []
        @default_logger = DefaultLogger.new
      end

      # Runs a user's block with the recording object.
      #
      # @yieldparam config [Section] has a setter and a getter for every setting
      # @return [self]
      def record(&block)
        TolerantBlock.new.run do |tolerant_block|
          values = @values.transform_values { |value| value.is_a?(Hash) ? value.dup : value }
          unknown = {}
          producer_blocks = @producer_blocks.dup
          recorder = Recorder.new(values, unknown, producer_blocks, tolerant_block, @default_logger)
          block&.call(Section.new(nil, recorder))
          keep(values, unknown, producer_blocks)
        end
        self
      end

      # @return [Settings] frozen; a setting with an invalid value has its default, and the problem is in `problems`
      def settings
        problems = @unknown.map { |(section, name), line| unknown_problem(section, name, line) }
        values = Schema::SETTINGS.to_h { |setting| [setting.path, typed(setting, problems)] }
        Settings.new(values, environment: @environment, problems: problems, producer_blocks: @producer_blocks,
          default_logger: @default_logger)
      end

      private

      def keep(values, unknown, producer_blocks)
        @values = values
        @unknown = unknown.merge(@unknown)
        @producer_blocks = producer_blocks
      end

      def typed(setting, problems)
        return setting.default unless @values.key?(setting.path)

        value = @values[setting.path]
        coerced = setting.type.coerce(value)
        return coerced unless Types.invalid?(coerced)

        problems << wrong(setting, value)
        setting.default
      end

      def wrong(setting, value)
        place = "config.#{setting.path}"
        # A value given instead of a Hash may contain secrets.
        return Problem.new(place, "must be a Hash, is a #{value.class}", HASH) if setting.default.is_a?(Hash)

        Problem.new(place, "must be #{setting.type}, is #{value.inspect[0, 80]}",
          "The default is #{setting.default.inspect}")
      end

      def unknown_problem(section, name, line)
        plain = name.to_s.delete_suffix("=")
        path = [section, plain].compact.join(".")
        return section_problem(plain) if section.nil? && Schema::SECTIONS.include?(plain)

        known = Schema::BY_PATH.keys + Schema::SECTIONS
        hint = Compat::Karafka::Settings.instead(path) || nearest(section, plain, known)
        Problem.new("config.#{path}", "there is no such setting#{" (#{line})" if line}", hint)
      end

      def nearest(section, name, known)
        inside = known.select { |path| path.start_with?("#{section}.") }.map { |path| path.delete_prefix("#{section}.") }
        found = section && Nearest.to(name, inside)
        return "Did you mean config.#{section}.#{found}?" if found

        found = Nearest.to(name, known)
        return "Did you mean config.#{found}?" if found

        section ? "config.#{section} has #{inside.join(", ")}" : "docs/configuration.md lists all settings"
      end

      def section_problem(name)
        settings = Schema.in_section(name).map(&:name)
        Problem.new("config.#{name}", "is a group of settings, not a setting",
          "Set for example config.#{name}.#{settings.first}; it has #{settings.join(", ")}")
      end
    end
  end
end
