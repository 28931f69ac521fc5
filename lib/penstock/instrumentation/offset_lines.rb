# frozen_string_literal: true

require_relative "../printable"
require_relative "lines"

module Penstock
  module Instrumentation
    # The lines of {LoggerListener} about commits; part of it.
    module OffsetLines
      def on_offsets_committed(event)
        @log.debug(event) { "#{event[:subscription_group_id]}: committed #{Lines.positions(event[:offsets])}" }
      end

      def on_offsets_commit_retried(event)
        @log.repeated(:info, event) do
          "#{event[:subscription_group_id]}: the commit is retried: #{Printable.message(event[:error])}"
        end
      end

      def on_offsets_metadata_ignored(event)
        @log.repeated(:warn, event) do
          "#{Lines.lane(event)}: the metadata at offset #{event[:offset]} is ignored: #{event[:reason]}"
        end
      end

      def on_offsets_metadata_reduced(event)
        @log.repeated(:warn, event) do
          "#{Lines.lane(event)}: #{event[:bytes]} bytes of commit metadata are too many, committed without it"
        end
      end

      def on_offsets_unavailable(event)
        @log.repeated(:warn, event) { "#{Lines.lane(event)}: #{Lines.unavailable(event)}" }
      end

      def on_offsets_reopened(event)
        @log.repeated(:warn, event) do
          "#{Lines.lane(event)}: its ledger is discarded, it continues at the group's offset #{event[:offset]}"
        end
      end
    end
  end
end
