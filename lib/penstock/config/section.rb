# frozen_string_literal: true

require_relative "../compat/karafka/setting_tree"
require_relative "kafka_hash"
require_relative "../user_line"
require_relative "schema"

module Penstock
  module Config
    # Destination of a {Section}'s values: shared by the sections of one run of a setup block.
    Recorder = Struct.new(:values, :unknown, :producer_blocks, :tolerant_block, :default_logger)

    # The object that a setup block uses, at the top level or in a section such as `config.pause`. Its methods are
    # generated from the schema; a setter records the value, a getter returns the recorded value or the default.
    class Section
      # @param name [String, nil] nil for the top level
      # @param recorder [Recorder]
      def initialize(name, recorder)
        @name = name
        @recorder = recorder
        Schema.in_section(name).each { |setting| define(setting.name, setting) }
        top_level unless name
        recorder.tolerant_block.tolerate(self)
      end

      # Sets several at once: `config.pause.setup { |pause| … }` or `config.setup { … }`.
      def setup
        yield self
      end

      # Identifies this kind of object to {TolerantBlock}.
      # @api private
      def tolerated_kind
        "setting of #{@name || "the application"}"
      end

      # @api private
      def unknown(name)
        note(@name, name)
        @recorder.tolerant_block.void
      end

      # @return [String] names only: values may be secret
      def inspect
        "#<#{self.class} #{Schema.in_section(@name).map(&:name).join(", ")}>"
      end

      private

      def top_level
        Schema::SECTIONS.each do |section|
          child = Section.new(section, @recorder)
          define_singleton_method(section) { child }
        end
        Schema::FLAT.each { |flat, path| define(flat, Schema::BY_PATH.fetch(path)) }
        with_block
        logger
        internal_settings
      end

      # Karafka's internal settings: assigned ones are reported as unknown.
      def internal_settings
        tree = Compat::Karafka::SettingTree.new("internal") { |path| note(nil, path) }
        define_singleton_method(:internal) { tree }
      end

      # A setting that doesn't exist is listed once, with the line that used it first.
      def note(section, name)
        @recorder.unknown[[section, name]] ||= UserLine.find
      end

      def define(name, setting)
        define_singleton_method(:"#{name}=") { |value| write(setting, value) }
        define_singleton_method(name) { read(setting) } unless %w[logger producer].include?(setting.path)
      end

      # Returns a logger even if none was set.
      def logger
        setting = Schema::BY_PATH.fetch("logger")
        define_singleton_method(:logger) { read(setting) || @recorder.default_logger.get }
      end

      # With a block `producer` keeps it for the producer that is created later; with a value it uses that producer;
      # without both it returns the value.
      def with_block
        setting = Schema::BY_PATH.fetch("producer")
        define_singleton_method(:producer) do |value = nil, &block|
          @recorder.producer_blocks << block if block
          value ? write(setting, value) : read(setting)
        end
      end

      def write(setting, value)
        @recorder.values[setting.path] = value.is_a?(Hash) ? KafkaHash.from(value) : value
      end

      # A Hash that is read may be modified, so it is kept from then on.
      def read(setting)
        value = @recorder.values.fetch(setting.path) { setting.default }
        return value unless value.is_a?(Hash) && value.frozen?

        @recorder.values[setting.path] = KafkaHash.from(value)
      end
    end
  end
end
