# frozen_string_literal: true

module Penstock
  module CLI
    module Control
      # The memory of a process as the kernel counts it. `pss` divides each page by the number of processes that share
      # it, so the sum over all processes is what they really use. Linux only.
      class Memory
        KB = 1_024
        private_constant :KB

        # @param pid [Integer, nil]
        # @return [Memory]
        def self.of(pid)
          new(pid ? File.read("/proc/#{pid}/smaps_rollup") : "")
        rescue SystemCallError => error
          new("", problem: error.message[/\A[^@]+/].strip)
        end

        # @return [String, nil] why there are no figures
        attr_reader :problem

        # @param text [String] as in `smaps_rollup`
        # @param problem [String, nil]
        def initialize(text, problem: nil)
          @kb = text.scan(/^(\w+):\s+(\d+) kB/).to_h { |name, kb| [name, Integer(kb)] }
          @problem = problem
        end

        # @return [Integer, nil]
        def rss_mb = mb("Rss")

        # @return [Integer, nil]
        def pss_mb = mb("Pss")

        # @return [Integer, nil] kB, for sums
        def pss_kb = @kb["Pss"]

        # @return [String, nil] percent
        def shared
          rss = @kb["Rss"]
          return unless rss&.positive?
          own = @kb.values_at("Private_Clean", "Private_Dirty").compact.sum
          "#{100 - (own * 100.0 / rss).round} %"
        end

        private

        def mb(name) = @kb[name] && (@kb[name].to_f / KB).round
      end
    end
  end
end
