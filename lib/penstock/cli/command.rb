# frozen_string_literal: true

require_relative "../printable"
require_relative "arguments"
require_relative "exit_codes"
require_relative "failure"
require_relative "help_text"
require_relative "registry"

module Penstock
  module CLI
    # Base class of all commands. A subclass sets its name with `command`, declares its options in `define`, and does
    # its work in `call`, which returns an exit code (anything but an Integer means 0). An object runs once, on the main
    # thread.
    #
    # The files of all commands are read at every start, so they `require` heavy libraries inside the methods that use
    # them.
    class Command
      class << self
        # @return [String] one word, or two: family and command
        attr_reader :command_name
        # @return [String] one line for the overview
        attr_reader :summary
        # @return [Array<String>] other names
        attr_reader :aliases

        # Names the class and registers it.
        #
        # @param name [String]
        # @param summary [String] one line
        # @param usage [String] the arguments, as in `"NAME… [options]"`
        # @param arguments [Range] allowed number of arguments without a dash
        # @param aliases [Array<String>]
        # @param hidden [Boolean] not in the overview
        def command(name, summary, usage: "[options]", arguments: 0..0, aliases: [], hidden: false)
          @command_name = name
          @summary = summary
          @usage = usage
          @arguments = arguments
          @aliases = aliases
          @hidden = hidden
          Registry.shared.add(self)
        end

        # Sets the paragraphs and examples that `--help` shows below the summary.
        #
        # @param text [String, nil] nil returns the current text
        def details(text = nil)
          text ? @details = text : @details
        end

        # @return [String] the arguments and options, as the usage line shows them
        attr_reader :usage
        # @return [Range] allowed number of arguments without a dash
        attr_reader :arguments

        def hidden?
          @hidden
        end
      end

      # @param context [Context]
      def initialize(context)
        @context = context
        @options = {}
      end

      # @param argv [Array<String>] arguments after the command's name; not changed
      # @return [Integer] exit code
      # @raise [Usage] the arguments are invalid for this command
      def run(argv)
        parser = build_parser
        words = parser.parse(argv)
        return print_help(parser) if @options[:help]

        check_count(words)
        code = call(words)
        code.is_a?(Integer) ? code : ExitCodes::OK
      end

      private

      attr_reader :context, :options

      # Overridden by subclasses: declares options on `parser` ({Arguments}), which stores them in {#options}.
      def define(parser)
      end

      # Overridden by subclasses: does the work.
      #
      # @param words [Array<String>] arguments without a dash
      # @return [Integer, Object] exit code
      def call(words)
        raise NotImplementedError, "#{self.class}#call"
      end

      def build_parser
        Arguments.new(@options, self.class.command_name).tap do |parser|
          define(parser)
          parser.flag(:help, "-h", "--help", "print this")
        end
      end

      def print_help(parser)
        say HelpText.new(self.class, parser).to_s
        ExitCodes::OK
      end

      def check_count(words)
        fail_usage "an argument is empty. Usage: penstock #{self.class.command_name} #{self.class.usage}" if
          names_in(words).any?(&:empty?)
        return if self.class.arguments.cover?(words.size)

        problem = (words.size < self.class.arguments.min) ? "an argument is missing" : "too many arguments: #{words.join(" ")}"
        fail_usage "#{problem}. Usage: penstock #{self.class.command_name} #{self.class.usage}"
      end

      # An optional argument may be empty, as a payload; a list consists of names.
      def names_in(words) = self.class.arguments.end ? words.first(self.class.arguments.min) : words

      def fail_usage(text)
        raise Usage, "#{self.class.command_name}: #{text}"
      end

      # Commands print through this method only, so that names and texts from outside can't send control sequences to
      # the terminal. Text that may contain foreign line breaks is made a single line where the message is built.
      def say(*lines)
        context.stdout.puts(*lines.flatten.map { |line| Printable.lines(line, nil) })
      end

      def warn_user(*lines)
        context.stdout.flush # so that both are in order where they go to one file
        context.stderr.puts(*lines.flatten.map { |line| Printable.lines(line) })
      end

      def say_json(value)
        context.stdout.puts(Printable.json(value, pretty: true))
      end

      # @return [Boolean] whether the user typed "yes"
      def confirmed?(question)
        context.stdout.print("#{Printable.line(question)} Type yes: ")
        context.stdout.flush
        context.stdin.gets.to_s.strip == "yes"
      end
    end
  end
end
