# frozen_string_literal: true

require_relative "fault_runs/journal"

module Penstock
  module TestSupport
    # Writes a journal as a process of a fault run writes one, for tests of the checks that read it.
    module SyntheticJournal
      US = 1_000

      # @param dir [String]
      # @param name [String] of the application
      # @param pid [Integer]
      # @param lines [Array<Array>] ms, kind and fields of each, in any order
      # @param member [String] name of the process, if it has one
      # @yieldparam text [String] yieldreturn: what is written instead, such as a damaged line
      # @return [String] path
      def self.write(dir, name, pid, lines, member: "")
        rows = [[0, "boot", name, pid, 0, member], *lines.sort_by.with_index { |line, index| [line[0], index] }]
        text = rows.each.with_index(1).map { |(at, kind, *fields), number| FaultRuns::Journal.line(number, at * US, kind, fields) }
        text = yield(text) if block_given?
        File.join(dir, "#{name}-#{pid}.journal").tap { |path| File.write(path, text.join) }
      end
    end
  end
end
