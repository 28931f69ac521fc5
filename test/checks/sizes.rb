# frozen_string_literal: true

require "yaml"
require_relative "check"

module Penstock
  module Checks
    # Small files: none over 400 lines, nine of ten at most 200. (Methods are RuboCop's: none over 30.)
    # An exception is listed in size_exceptions.yml with its reason; one that isn't needed any more must be removed.
    class Sizes < Check
      LIMIT = 400
      TENTH = 200
      EXCEPTIONS = YAML.safe_load_file(File.join(__dir__, "size_exceptions.yml")) || {}

      private

      def problems
        too_long + unneeded + spread
      end

      def figures
        "lib: #{lib.size} files, median #{lib[lib.size / 2]}, p90 #{percentile(lib)}, max #{lib.last} lines"
      end

      def lib
        sizes.select { |path, _| path.start_with?("lib/") }.values.sort
      end

      def sizes
        @sizes ||= files("lib/*.rb", "ext/*.c", "ext/*.h", "ext/*.rb", "test/*.rb").to_h do |path|
          [path, File.foreach(path).count]
        end
      end

      def too_long
        sizes.select { |path, lines| lines > LIMIT && !EXCEPTIONS.key?(path) }
          .map { |path, lines| "#{path} has #{lines} lines, over #{LIMIT}" }
      end

      def unneeded
        EXCEPTIONS.keys.reject { |path| sizes.fetch(path, 0) > LIMIT }
          .map { |path| "size_exceptions.yml names #{path}, which needs no exception" }
      end

      def spread
        nine_of_ten = percentile(lib)
        (nine_of_ten > TENTH) ? ["nine of ten files of lib have up to #{nine_of_ten} lines, over #{TENTH}"] : []
      end

      def percentile(sorted)
        sorted[(sorted.size * 0.9).floor] || 0
      end
    end
  end
end
