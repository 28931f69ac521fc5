# frozen_string_literal: true

require "json"

module Penstock
  module TestSupport
    module FaultRuns
      # A job of a fault run, read from its record without Active Job. Its first arguments are its number and its kind; the
      # current attributes it was enqueued with take the place of headers.
      #
      # kind: "ok"; "retried" is enqueued again twice by `retry_on`; "discarded"; "poison" always fails, as do
      # "poison:missing" (no such class), "poison:arguments" and "poison:gone" (a deleted record); "kill:1" kills its process
      # once, "kill" always; "due:MS" is due at that time, in ms since 1970.
      JobRecord = Struct.new(:uid, :sequence, :kind, :headers) do
        # @param payload [String, nil]
        # @return [JobRecord, nil] nil if the payload is no such job
        def self.parse(payload)
          return unless payload&.start_with?("{")
          data = JSON.parse(payload)
          number, kind = data["arguments"]
          return unless data["job_id"] && number.is_a?(Integer) && kind.is_a?(String)

          new(data["job_id"], number, kind, [["uid", attribute(data)&.to_s]])
        rescue JSON::ParserError
          nil
        end

        def self.attribute(data) = data["penstock_current"]&.values&.first&.dig(0, "number")
        private_class_method :attribute
      end
    end
  end
end
