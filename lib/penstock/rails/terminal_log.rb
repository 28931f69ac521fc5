# frozen_string_literal: true

module Penstock
  module OnRails
    # Writes Rails' log to the terminal too, as `rails server` does.
    module TerminalLog
      # Does nothing if the log goes to a terminal already.
      #
      # The added logger is a plain one that shares the formatter: with two loggers that have tags, `Rails.logger.tagged` would
      # run its block twice, and Active Job runs each job in such a block (https://github.com/rails/rails/issues/49745).
      # @param logger [#broadcast_to] `Rails.logger`
      # @param out [IO]
      # @return [void]
      def self.start(logger, out = $stdout)
        return unless logger.respond_to?(:broadcast_to)
        return if ActiveSupport::Logger.logger_outputs_to?(logger, $stderr, $stdout)
        plain = ActiveSupport::Logger.new(out, level: logger.level)
        plain.formatter = logger.formatter
        logger.broadcast_to(plain)
      end
    end
  end
end
