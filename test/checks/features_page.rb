# frozen_string_literal: true

require "yaml"
require_relative "rows"

module Penstock
  module Checks
    # Writes docs/features.md: each row of the feature list with its description from features.yml, its page of docs/, and the
    # files with its tests.
    class FeaturesPage
      INTRODUCTION = <<~TEXT
        # Features

        Each feature has a row whose name is part of its tests' names, in square brackets. `rake docs:features` writes this page from
        `test/checks/features.yml` and the tests; `bin/check rows` lists the tests by name.
      TEXT

      # @param sections [Array<Hash>] as in features.yml: title, page, rows
      # @param tests [Hash{String => Array<(String, String)>}] path and name of each row's tests
      def initialize(sections = YAML.safe_load_file(File.join(__dir__, "features.yml")), tests: Rows.new.to_h)
        @sections = sections
        @tests = tests
      end

      # @return [Array<String>] rows of tests without a description, and descriptions without a test
      def problems
        rows = @sections.flat_map { |section| section["rows"].keys }
        (@tests.keys - rows).map { |row| "[#{row}] has no description in test/checks/features.yml" } +
          (rows - @tests.keys).map { |row| "#{row.inspect} in test/checks/features.yml has no test" } +
          rows.tally.select { |_, count| count > 1 }.keys.map { |row| "#{row.inspect} is twice in test/checks/features.yml" }
      end

      # @return [Array<String>] pages that the sections name
      def pages = @sections.map { |section| section["page"] }.uniq

      # @return [String] Markdown
      def to_s = [INTRODUCTION, *@sections.map { |section| table(*section.values_at("title", "page", "rows")) }].join("\n")

      private

      def table(title, page, rows)
        lines = rows.map do |row, description|
          "| #{description} | `#{row}` | [#{page.delete_suffix(".md")}](#{page}) | #{files(row)} |"
        end
        ["## #{title}", "", "| feature | row | page | tests |", "| --- | --- | --- | --- |", *lines, ""].join("\n")
      end

      def files(row)
        @tests.fetch(row, []).map(&:first).uniq.sort.map { |path| "[#{path.delete_prefix("test/")}](../#{path})" }.join(", ")
      end
    end
  end
end
