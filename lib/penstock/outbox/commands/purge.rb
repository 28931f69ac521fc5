# frozen_string_literal: true

require_relative "base"

module Penstock
  module OutboxCommands
    # Deletes rows that were kept after delivery.
    class Purge < Base
      command "outbox purge", "Deletes sent rows that were kept (after_delivery :keep)", usage: "--older-than SECONDS"

      private

      def define(parser)
        parser.value(:older_than, "--older-than SECONDS", Float, "only rows delivered longer ago than this")
      end

      def call(_words)
        seconds = options[:older_than] || fail_usage("--older-than SECONDS is required")
        fail_usage("--older-than must be a number of seconds, at least 0, is #{seconds}") unless seconds.finite? && seconds >= 0
        boot
        say "#{Outbox.purge(older_than: seconds)} rows deleted"
      end
    end
  end
end
