# frozen_string_literal: true

module Penstock
  # Reports that are made when the process ends, after the code that the application runs in `at_exit`. Ruby calls the handlers of
  # `at_exit` in reverse order, and the one of this file is registered when it is loaded: a file that registers one of its own,
  # which may make a report unnecessary, requires this one before. Changed at boot; the reports run on the thread that ends the
  # process.
  module ExitReports
    @reports = []

    class << self
      # @yieldreturn [void]
      # @return [void]
      def add(&report)
        @reports += [report]
        nil
      end

      private

      def call = @reports.each(&:call)
    end

    at_exit { call }
  end
  private_constant :ExitReports
end
