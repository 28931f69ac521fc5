# frozen_string_literal: true

require_relative "../monitors/error_tracker"

module Penstock
  module OnRails
    # Reports errors to `Rails.error`, with the place where they occurred; `config.penstock.report` chooses which. Rails marks an
    # error that was reported: it isn't reported again, also by a job that has reported it itself.
    class ErrorReporter < Monitors::ErrorTracker
      SOURCE = "application.penstock"

      # @param errors [#report] `Rails.error`
      # @param settings [Settings]
      def initialize(errors, settings)
        super(->(error, context) { errors.report(error, handled: false, source: SOURCE, context: context) })
        @settings = settings
      end

      private

      # The setting may still change while Rails boots.
      def each? = @settings.report == :each
    end
  end
end
