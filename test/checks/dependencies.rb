# frozen_string_literal: true

require_relative "check"

module Penstock
  module Checks
    # Each runtime dependency is justified in docs/dependencies.md, and nothing is justified there that isn't one.
    class Dependencies < Check
      PAGE = "docs/dependencies.md"

      private

      def problems
        (used - argued).map { |name| "#{name} is a runtime dependency without a line in #{PAGE}" } +
          (argued - used).map { |name| "#{PAGE} justifies #{name}, which is no runtime dependency" }
      end

      def figures
        used.join(", ")
      end

      def used
        Gem::Specification.load("penstock.gemspec").runtime_dependencies.map(&:name)
      end

      # The table below "At run time": the first cell of a row is the name.
      def argued
        File.read(PAGE)[/^## At run time\n(.*?)(?=^## |\z)/m, 1].to_s.scan(/^\| `([^`]+)` \|/).flatten
      end
    end
  end
end
