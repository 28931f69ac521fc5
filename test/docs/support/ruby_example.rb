# frozen_string_literal: true

module Penstock
  module DocsTest
    # Runs one Ruby example in a fork of the page's process: the code around it, the example under its own file and line,
    # and, if it defines an application without running it, the check that a start would make.
    class RubyExample
      # Code for generated pages, which can't have directives above their fences.
      AROUND = {
        "docs/events.md" => "PenstockApp = Class.new(Penstock::App); MyListener = Class.new"
      }.freeze
      private_constant :AROUND

      # @param example [Example]
      # @param code [String] the example's code, with the addresses of this run
      def initialize(example, code)
        @example = example
        @code = code
      end

      # @return [Integer] pid of the process that runs it
      def start(folder, output)
        fork do
          $stdout.reopen(output)
          $stderr.reopen(output)
          $stdout.sync = true
          Dir.chdir(folder)
          run
        end
      end

      private

      def run
        require_relative "prelude"
        evaluate(AROUND.fetch(@example.page, ""), "#{@example.page} (around)", 1)
        @example.all("before").each { |code| evaluate(code, "#{@example.place} (before)", 1) }
        evaluate(@code, @example.page, @example.line + 1)
        @example.all("after").each { |code| evaluate(code, "#{@example.place} (after)", 1) }
        Penstock.app&.validate! if Penstock.app&.routing&.drawn?
      rescue StandardError, ScriptError => error
        abort told(error)
      end

      # Without the frames of the code that runs the example.
      def told(error)
        own = error.backtrace.to_a.take_while { |frame| !frame.start_with?(__dir__) }
        ["#{error.message} (#{error.class})", *own.first(8).map { |frame| "  #{frame}" }].join("\n")
      end

      def evaluate(code, path, line)
        TOPLEVEL_BINDING.eval("# frozen_string_literal: true\n#{code}", path, line - 1)
      end
    end
  end
end
