# frozen_string_literal: true

module Penstock
  module TestSupport
    # Ends in teardown what a test has started.
    module Started
      def setup
        @started = []
        super
      end

      def teardown
        @started.each(&:close)
        super
      end

      # @param process [#close]
      # @return what was given
      def started(process) = process.tap { @started << process }
    end
  end
end
