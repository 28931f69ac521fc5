# frozen_string_literal: true

require "prism"

module Penstock
  module Checks
    # The English text of a source file: comments, messages, test names, pages. Code is left out.
    module ProseText
      # A continuous piece of text, and the line of the file that it begins on.
      Passage = Struct.new(:line, :text)

      # A string with fewer words than this is a name or a format, not a sentence.
      WORDS_OF_A_SENTENCE = 3
      DIRECTIVE = /\A#\s*(?:frozen_string_literal|encoding|rubocop:|-\*-|!|:nodoc|yard:)|\A#!/

      module_function

      # @param path [String] decides how the text is read
      # @param source [String]
      # @return [Array<Passage>]
      def of(path, source)
        case path
        when /\.md\z/ then markdown(source)
        when /\.[ch]\z/ then c_source(source)
        else ruby(source, strings: path.start_with?("test/") ? :names : :all)
        end
      end

      # @param strings [Symbol] `:names`: of the strings, only the names of tests
      def ruby(source, strings:)
        parsed = Prism.parse(source)
        comment_blocks(parsed.comments) + Strings.new(strings).collect(parsed.value)
      end

      # Comments on consecutive lines are one passage, so that a phrase that is wrapped is found.
      def comment_blocks(comments)
        lines = comments.map { |comment| [comment.location.start_line, comment.slice] }
          .reject { |_, text| text.match?(DIRECTIVE) }
        lines.slice_when { |one, other| other[0] != one[0] + 1 }.map do |block|
          Passage.new(block[0][0], block.map { |_, text| without_code(text.sub(/\A#\s?/, "")) }.join("\n"))
        end
      end

      def c_source(source)
        passages = []
        source.scan(%r{/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"}m) do |text|
          next if text.start_with?('"') && !sentence?(text)
          line = $~.pre_match.count("\n") + 1
          passages << Passage.new(line, without_code(text.gsub(%r{^\s*\*+ ?|/\*+|\*+/|//}, "")))
        end
        passages
      end

      # Of blocks of code, the comments.
      def markdown(source)
        fenced = false
        lines = source.lines(chomp: true).map do |line|
          fenced = !fenced if (fence = line.match?(/\A\s*```/))
          next "" if fence
          fenced ? line[/(?:\A|\s)# .*/].to_s : line
        end
        [Passage.new(1, without_code(lines.join("\n")))]
      end

      def sentence?(text) = text.scan(/\b[A-Za-z]{2,}\b/).size >= WORDS_OF_A_SENTENCE

      def without_code(text) = text.gsub(/`[^`\n]+`/, "X")

      # Collects strings of a syntax tree.
      class Strings < Prism::Visitor
        NAMING = %i[test rule].freeze

        def initialize(which)
          super()
          @which = which
          @found = []
        end

        def collect(tree)
          tree.accept(self)
          @found
        end

        def visit_call_node(node)
          if @which == :names && node.receiver.nil? && NAMING.include?(node.name)
            name = node.arguments&.arguments&.first
            add(name.location.start_line, name.slice) if name.is_a?(Prism::StringNode) || name.is_a?(Prism::InterpolatedStringNode)
          end
          super
        end

        def visit_string_node(node)
          add(node.location.start_line, node.unescaped) if @which == :all
          super
        end

        private

        def add(line, text)
          text = text.dup.force_encoding(Encoding::UTF_8).scrub
          @found << Passage.new(line, ProseText.without_code(text)) if @which == :names || ProseText.sentence?(text)
        end
      end
    end
  end
end
