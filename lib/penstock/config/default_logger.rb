# frozen_string_literal: true

require "logger"

module Penstock
  module Config
    # The logger of an application that sets none: for standard output, from level info on. Created on first use, once per
    # application, so that a setup block can change it (`config.logger.level = …`). Any thread.
    #
    # Standard output isn't buffered from then on: where it is no terminal, lines would come minutes later, and be lost when the
    # process is killed.
    class DefaultLogger
      def initialize
        @lock = Mutex.new
        @logger = nil
      end

      # @return [Logger]
      def get
        @lock.synchronize { @logger ||= make }
      end

      private

      def make
        $stdout.sync = true
        ::Logger.new($stdout, level: ::Logger::INFO, progname: "penstock")
      end
    end
  end
end
