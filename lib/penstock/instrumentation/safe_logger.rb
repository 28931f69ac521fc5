# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module Instrumentation
    # The application's logger as Penstock writes to it: each entry is made safe to print first ({Printable.entry}), because most
    # of them name something that came from outside. The logger itself stays the application's, as it is, and answers what isn't
    # about writing an entry (listeners of the application's that inherit from {LoggerListener} may ask it anything).
    #
    # Holds nothing but the logger. Any thread.
    class SafeLogger
      # @param logger [#debug, #info, #warn, #error, #fatal] a Logger or something like it
      # @return [SafeLogger]
      def self.of(logger) = logger.is_a?(self) ? logger : new(logger)

      # @param logger [#debug, #info, #warn, #error, #fatal]
      def initialize(logger)
        @logger = logger
      end

      %i[debug info warn error fatal unknown].each do |level|
        # @param text [Object, nil] an entry; without it the block makes one, where the level is logged
        # @return [Object] what the logger returns
        define_method(level) do |text = nil, &block|
          next @logger.public_send(level, Printable.entry(text)) unless block

          @logger.public_send(level) { Printable.entry(block.call) }
        end
      end

      # @param severity [Integer] as Ruby's Logger has it
      # @param text [Object] an entry
      # @return [Object] what the logger returns
      def add(severity, text) = @logger.add(severity, Printable.entry(text))

      private

      def method_missing(name, ...) = @logger.respond_to?(name) ? @logger.public_send(name, ...) : super

      def respond_to_missing?(name, _private = false) = @logger.respond_to?(name)
    end
  end
end
