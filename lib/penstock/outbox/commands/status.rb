# frozen_string_literal: true

require_relative "../../cli/record_fields"
require_relative "../../cli/table"
require_relative "base"

module Penstock
  module OutboxCommands
    # Prints the lag of the outbox and its stuck rows.
    class Status < Base
      command "outbox status", "Prints the outbox's lag and its stuck rows"
      details <<~TEXT
        ready: to be sent. parked: refused, will be retried. held: waits for a parked row with the same key. aside: refused
        and set aside, until you retry or discard them. Counts stop at 100,000.
      TEXT

      STUCK = %w[parked aside].freeze
      LISTED = 20

      private

      def define(parser)
        parser.flag(:json, "--json", "as JSON")
      end

      def call(_words)
        boot
        lag = Outbox.lag
        stuck = STUCK.flat_map { |state| Outbox.rows(state, limit: LISTED) }
        return print(lag, stuck) unless options[:json]

        say_json({**lag.to_h, pending: lag.pending, stuck: stuck.map { |row| fields(row) }})
      end

      def print(lag, stuck)
        rows = %i[ready parked held aside].map { |state| [state.to_s, lag[state]] }
        say CLI::Table.new(%w[state rows], rows)
        say "", "the oldest row has waited #{(lag.oldest_age_ms / 1_000.0).round(1)} s" if lag.oldest_age_ms
        return if stuck.empty?

        say "", CLI::Table.new(%w[id state topic key attempts error], stuck.map do |row|
          row.values_at("id", "state", "topic", "message_key", "attempts", "last_error")
        end)
      end

      # Keys may contain any bytes.
      def fields(row)
        row.each_with_object({}) do |(name, value), found|
          found.merge!(value.is_a?(String) ? CLI::RecordFields.field(name.to_sym, value) : {name.to_sym => value})
        end
      end
    end
  end
end
