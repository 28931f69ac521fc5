# frozen_string_literal: true

require_relative "elsewhere"
require_relative "kafka_hash"
require_relative "schema"

module Penstock
  module Config
    # Where a {Section} writes to: shared by the sections of one run of a setup block.
    Recorder = Struct.new(:values, :unknown, :producer_blocks, :replay)

    # The object a setup block talks to, at the top level or in a section such as `config.pause`. Its methods are made from
    # the schema; a setter writes down, a getter answers what was written or the default.
    class Section
      # @param name [String, nil] nil for the top level
      # @param recorder [Recorder]
      def initialize(name, recorder)
        @name = name
        @recorder = recorder
        Schema.in_section(name).each { |setting| define(setting.name, setting) }
        top_level unless name
        recorder.replay.teach(self)
      end

      # Sets several at once: `config.pause.setup { |pause| … }` or `config.setup { … }`.
      def setup
        yield self
      end

      # What {Replay} tells kinds of objects apart by.
      # @api private
      def replay_kind
        "setting of #{@name || "the application"}"
      end

      # @api private
      def unknown(name)
        @recorder.unknown << [@name, name] unless @recorder.unknown.include?([@name, name])
        @recorder.replay.void
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
        inside
      end

      # The incumbent's settings of its inside: a tree of them, of which only what is said is told.
      def inside
        told = @recorder.unknown
        elsewhere = Elsewhere.new("internal") { |path| told << [nil, path] unless told.include?([nil, path]) }
        define_singleton_method(:internal) { elsewhere }
      end

      def define(name, setting)
        define_singleton_method(:"#{name}=") { |value| write(setting, value) }
        define_singleton_method(name) { read(setting) } unless setting.path == "producer"
      end

      # With a block `producer` keeps it for the producer that is made later; with a value it takes that one; bare it reads.
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

      # A Hash that is read may be written into, so it is kept from then on.
      def read(setting)
        value = @recorder.values.fetch(setting.path) { setting.default }
        return value unless value.is_a?(Hash) && value.frozen?

        @recorder.values[setting.path] = KafkaHash.from(value)
      end
    end
  end
end
