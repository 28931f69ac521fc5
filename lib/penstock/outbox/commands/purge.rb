# frozen_string_literal: true

require_relative "base"

module Penstock
  module OutboxCommands
    # Deletes what was kept of delivered messages.
    class Purge < Base
      command "outbox purge", "Deletes sent rows that were kept (after_delivery :keep)", usage: "--older-than SECONDS"

      private

      def define(parser)
        parser.value(:older_than, "--older-than SECONDS", Float, "those delivered before that")
      end

      def call(_words)
        seconds = options[:older_than] || fail_usage("say --older-than SECONDS")
        boot
        say "#{Outbox.purge(older_than: seconds)} rows are gone"
      end
    end
  end
end
