# frozen_string_literal: true

require_relative "example"

module Penstock
  module DocsTest
    # Finds the examples of a Markdown page: fenced blocks in Ruby or shell, each with the directives in the
    # HTML comments directly above it, or after its language. Others (text, sql, …) are no examples.
    class Page
      LANGUAGES = %w[ruby sh].freeze
      FENCE = /\A\s*```(?<language>\w+)?(?:\s+(?<rest>.*))?\s*\z/
      COMMENT = /\A\s*<!--\s*(?<name>no-run|file|before|after|failing|prints|stop when|exit|[\w-]+(?=:))\b:?[ \t]*(?<text>.*)\z/m

      # @param path [String]
      # @param name [String] used in failures
      def initialize(path, name = path)
        @lines = File.readlines(path, encoding: "UTF-8", chomp: true)
        @name = name
      end

      # @return [Array<Example>]
      def examples
        @examples = []
        @directives = []
        @at = 0
        read_line while @at < @lines.size
        @examples
      end

      private

      def read_line
        line = @lines[@at]
        if line.match?(/\A\s*<!--/) then comment
        elsif (fence = FENCE.match(line)) then block(fence)
        else
          @directives = [] unless line.strip.empty?
          @at += 1
        end
      end

      def comment
        first = @at
        @at += 1 until @lines[@at].nil? || @lines[@at].include?("-->")
        @at += 1
        text = @lines[first...@at].join("\n").sub(/\s*-->.*\z/m, "")
        found = COMMENT.match(text) or return
        @directives << [found[:name], found[:text].strip]
      end

      def block(fence)
        first = @at
        @at += 1
        @at += 1 until @lines[@at].nil? || @lines[@at].match?(/\A\s*```\s*\z/)
        code = @lines[(first + 1)...@at].join("\n")
        @at += 1
        keep(fence, first + 1, code) if LANGUAGES.include?(fence[:language])
        @directives = []
      end

      def keep(fence, line, code)
        behind = /\Ano-run\s*:?\s*\(?(?<reason>.*?)\)?\z/.match(fence[:rest].to_s)
        directives = [*@directives, *(["no-run", behind[:reason]] if behind).then { |pair| pair ? [pair] : [] }]
        @examples << Example.new(page: @name, line: line, language: fence[:language], code: code, directives: directives)
      end
    end
  end
end
