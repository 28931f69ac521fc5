# frozen_string_literal: true

require "yaml"
require_relative "check"
require_relative "prose_text"

module Penstock
  module Checks
    # Plain English: comments, messages, test names and pages contain none of the phrases in prose.yml. An exception in
    # prose_exceptions.yml names the file, a part of the line, and the reason; one that is no longer needed is a problem.
    class Prose < Check
      PATTERNS = %w[*.rb *.c *.h *.md Rakefile *.rake *.gemspec].freeze
      NOT_OURS = %r{\Atest/checks/prose|/tmp/}
      Phrase = Struct.new(:pattern, :write)

      # @param rows [Array<Hash>] as in prose.yml; a space between words stands for any white space
      # @return [Array<Phrase>]
      def self.phrases(rows)
        rows.map do |row|
          source = row.fetch("phrase").gsub(/(?<=[\w)]) (?=[\w(])/, "\\s+")
          Phrase.new(/(?<![\w'-])(?:#{source})(?![\w'-])/i, row.fetch("write"))
        end
      end

      def initialize(sources = nil, exceptions: nil)
        super()
        @sources = sources
        @exceptions = exceptions || YAML.safe_load_file(File.join(__dir__, "prose_exceptions.yml")) || []
        @phrases = self.class.phrases(YAML.safe_load_file(File.join(__dir__, "prose.yml")))
      end

      # @return [Hash{String => Integer}] number of phrases in each file that has any
      def counts = hits.group_by(&:first).transform_values(&:size)

      private

      def problems
        hits.map { |path, line, found, write| "#{path}:#{line} #{found.inspect}: write #{write}" } +
          unneeded.map { |row| "prose_exceptions.yml: #{row["file"]} #{row["text"].inspect} is no longer needed" }
      end

      def figures = "#{sources.size} files, #{@exceptions.size} exceptions"

      def sources
        @sources ||= files(*PATTERNS).grep_v(NOT_OURS).to_h { |path| [path, File.read(path, encoding: "UTF-8").scrub] }
      end

      def hits
        @hits ||= sources.flat_map { |path, source| in_file(path, source) }
      end

      def in_file(path, source)
        lines = nil
        found = ProseText.of(path, source).flat_map { |passage| in_passage(passage) }
        found.filter_map do |line, text, write|
          lines ||= source.lines
          [path, line, text, write] unless excepted?(path, lines[line - 1].to_s)
        end
      end

      def in_passage(passage)
        @phrases.flat_map do |phrase|
          passage.text.to_enum(:scan, phrase.pattern).map do
            [passage.line + $~.pre_match.count("\n"), $~[0].gsub(/\s+/, " "), phrase.write]
          end
        end
      end

      def excepted?(path, line)
        row = @exceptions.find { |one| one["file"] == path && line.include?(one["text"]) }
        (@used ||= {}.compare_by_identity)[row] = true if row
      end

      def unneeded
        hits
        @exceptions.reject { |row| @used&.key?(row) }
      end
    end
  end
end
