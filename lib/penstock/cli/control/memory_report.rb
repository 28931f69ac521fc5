# frozen_string_literal: true

require_relative "../table"
require_relative "memory"
require_relative "session"

module Penstock
  module CLI
    module Control
      # Reports how much memory the processes of a swarm use, and how much of it they share.
      class MemoryReport
        HEADING = %w[process pid rss_mb pss_mb shared].freeze

        # @param status [Hash] a swarm's answer to `status`, or a process that doesn't answer ({Session::SILENT}), which may be
        #   a swarm
        # @param memory_of [#call] returns a {Memory} for a process id
        def initialize(status, memory_of: Memory.method(:of))
          @silence = status[:reason] if status[:state] == Session::SILENT
          @rows = processes(status).map { |name, pid| [name, pid, memory_of.call(pid)] }
        end

        # @return [Array<Hash>]
        def to_a
          @rows.map do |name, pid, memory|
            {process: name, pid: pid, rss_mb: memory.rss_mb, pss_mb: memory.pss_mb, shared: memory.shared,
             problem: memory.problem || @silence}
          end
        end

        # @return [Boolean] whether the process answered and every process could be read
        def complete? = @silence.nil? && @rows.all? { |_name, _pid, memory| memory.problem.nil? }

        # A table, the sum, and a line for each process that couldn't be read.
        def to_s
          sum = (@rows.sum { |_name, _pid, memory| memory.pss_kb.to_i } / 1_024.0).round
          table = Table.new(HEADING, [*to_a.map { |row| row.values.first(HEADING.size) }, ["all", nil, nil, sum, nil]])
          [table, *to_a.filter_map { |row| complaint(row) }].join("\n")
        end

        private

        def processes(status)
          return [["no answer", status[:pid]]] if @silence
          nodes = status.fetch(:nodes, []).map { |node| ["node #{node[:node]}", node[:pid]] }
          [["supervisor", status[:pid]], ["mold", status.dig(:mold, :pid)], *nodes].select(&:last)
        end

        def complaint(row)
          return "process #{row[:pid]} #{@silence}: whether it is a swarm, and its nodes, aren't known" if @silence
          "#{row[:process]}: its memory can't be read (#{row[:problem]}); this needs Linux and the same user" if row[:problem]
        end
      end
    end
  end
end
