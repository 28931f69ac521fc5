# frozen_string_literal: true

module Penstock
  module DocsTest
    # One fenced block of a page, with the directives in the comments above it. A value.
    Example = Struct.new(:page, :line, :language, :code, :directives, keyword_init: true) do
      # @return [String] file and line of the fence
      def place = "#{page}:#{line}"

      # @param name [String] of a directive
      # @return [String, nil] text of the first one
      def directive(name) = all(name).first

      # @return [Array<String>]
      def all(name) = directives.select { |known, _text| known == name }.map(&:last)

      def runs? = directive("no-run").nil?

      # @return [Example, nil] the same again, with a failing destination
      def failing
        code = directive("failing") or return
        dup.tap { |again| again.directives = [["before", code], *directives.reject { |pair| pair.first == "before" }] }
      end

      # @return [Array<String>] mistakes in the comments themselves
      def problems
        unknown = directives.map(&:first) - Example::DIRECTIVES
        [*unknown.map { |name| "#{place}: there is no directive #{name}" },
          *all("no-run").select(&:empty?).map { "#{place}: no-run needs a reason" }]
      end
    end

    # `no-run`: not run, with the reason · `file`: written there instead of being run · `before`, `after`: code around it ·
    # `failing`: it is run a second time, with this code before it, in which its destination fails · `prints`: text the output
    # must have · `stop when`: the output after which TERM is sent · `exit`: code it ends with.
    Example::DIRECTIVES = ["no-run", "file", "before", "after", "failing", "prints", "stop when", "exit"].freeze
  end
end
