# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module Instrumentation
    # Writes Penstock's entries to the application's logger: each entry is made safe to print first ({Printable.entry}),
    # because most of them contain text from outside. All other methods are passed to the logger, which is not changed
    # (an application's listeners that inherit from {LoggerListener} may call any of them).
    #
    # Holds only the logger. Any thread.
    class SafeLogger
      # @param logger [#debug, #info, #warn, #error, #fatal] a Logger or something like it
      # @return [SafeLogger]
      def self.of(logger) = logger.is_a?(self) ? logger : new(logger)

      # @param logger [#debug, #info, #warn, #error, #fatal]
      def initialize(logger)
        @logger = logger
      end

      %i[debug info warn error fatal unknown].each do |level|
        # @param text [Object, nil] an entry; nil: the block returns it, called only if the level is logged
        # @return [Object] what the logger returns
        define_method(level) do |text = nil, &block|
          next @logger.public_send(level, Printable.entry(text)) unless block

          @logger.public_send(level) { Printable.entry(block.call) }
        end
      end

      # @param severity [Integer] a severity of Ruby's Logger
      # @param text [Object] an entry
      # @return [Object] what the logger returns
      def add(severity, text) = @logger.add(severity, Printable.entry(text))

      private

      def method_missing(name, ...) = @logger.respond_to?(name) ? @logger.public_send(name, ...) : super

      def respond_to_missing?(name, _private = false) = @logger.respond_to?(name)
    end
  end
end
