# frozen_string_literal: true

require_relative "../printable"
require_relative "log/json_format"

module Penstock
  module Instrumentation
    # Writes Penstock's entries to the application's logger: each entry is made safe to print first ({Printable.entry}),
    # because most of them contain text from outside, in the format that the application has chosen ({Log::JsonFormat}). A
    # logger with tags (`ActiveSupport::TaggedLogging`) gets them. All other methods are passed to the logger, which is not
    # changed (an application's listeners that inherit from {LoggerListener} may call any of them).
    #
    # Holds only the logger. Any thread.
    class SafeLogger
      LEVELS = %i[debug info warn error fatal unknown].freeze
      SEVERITIES = %w[DEBUG INFO WARN ERROR FATAL ANY].freeze
      TAG = "penstock"
      private_constant :LEVELS, :SEVERITIES, :TAG

      # @param logger [#debug, #info, #warn, #error, #fatal] a Logger or something like it
      # @return [SafeLogger]
      def self.of(logger) = logger.is_a?(self) ? logger : new(logger)

      # @param logger [#debug, #info, #warn, #error, #fatal]
      def initialize(logger)
        @logger = logger
        @asks = LEVELS.first(5).all? { |level| logger.respond_to?(:"#{level}?") }
        @json = Log::JsonFormat.use?(logger)
        @tagged = !@json && logger.respond_to?(:tagged)
        @pushes = @tagged && logger.respond_to?(:push_tags) && logger.respond_to?(:pop_tags)
      end

      # @return [Boolean] whether entries get tags
      def tagged? = @tagged

      LEVELS.each do |level|
        # @param text [Object, nil] an entry; nil: the block returns it, called only if the level is logged
        # @return [Object] what the logger returns
        define_method(level) do |text = nil, &block|
          next with_tags([TAG]) { @logger.public_send(level, written(level, text)) } unless block

          with_tags([TAG]) { @logger.public_send(level) { written(level, block.call) } } if level?(level)
        end

        next if level == :unknown

        # @return [Boolean] whether the logger writes entries of this level; true if it doesn't know
        class_eval("def #{level}? = @asks ? @logger.#{level}? : true", __FILE__, __LINE__)
      end

      # Writes the entry of an event; the caller has checked the level.
      # @param level [Symbol]
      # @param text [String]
      # @param event [Event]
      # @param tags [Array<String>] where to look: consumer group, topic
      # @return [void]
      def event(level, text, event, tags = [])
        with_tags([TAG, *tags]) { @logger.public_send(level, written(level, text, event)) }
      end

      # @param severity [Integer] a severity of Ruby's Logger
      # @param text [Object] an entry
      # @return [Object] what the logger returns
      def add(severity, text) = with_tags([TAG]) { @logger.add(severity, written(SEVERITIES.fetch(severity, "ANY"), text)) }

      private

      def level?(level) = level == :unknown || public_send(:"#{level}?")

      def written(level, text, event = nil)
        return Printable.entry(text) unless @json

        progname = @logger.progname if @logger.respond_to?(:progname)
        Log::JsonFormat.entry(level, progname, text, event ? Log::JsonFormat.fields(event) : {})
      end

      # By push and pop where that exists: `tagged` of two loggers that broadcast to each other runs its block twice.
      def with_tags(tags, &block)
        return yield unless @tagged
        return @logger.tagged(*tags, &block) unless @pushes

        begin
          @logger.push_tags(*tags)
          yield
        ensure
          @logger.pop_tags(tags.size)
        end
      end

      def method_missing(name, ...) = @logger.respond_to?(name) ? @logger.public_send(name, ...) : super

      def respond_to_missing?(name, _private = false) = @logger.respond_to?(name)
    end
  end
end
