# frozen_string_literal: true

require_relative "../printable"
require_relative "arguments"
require_relative "exit_codes"
require_relative "failure"
require_relative "help_text"
require_relative "registry"

module Penstock
  module CLI
    # The base of every command. A subclass names itself with `command`, declares its options in `define`, and does its
    # work in `call`, which answers an exit code (anything but an Integer means 0). One object runs once, on the main
    # thread.
    #
    # Files of commands are all read at every start, so they `require` what is heavy inside the methods that use it.
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
        # @param arguments [Range] how many arguments without a dash it takes
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

        # More than the summary says: paragraphs and examples shown by `--help`.
        #
        # @param text [String, nil] nil reads it
        def details(text = nil)
          text ? @details = text : @details
        end

        # @return [String] the arguments and options as one line shows them
        attr_reader :usage
        # @return [Range] how many arguments without a dash it takes
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
      # @raise [Usage] what was typed makes no sense for this command
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

      # Overridden: declares options on `parser` ({Arguments}), which stores them in {#options}.
      def define(parser)
      end

      # Overridden: the work.
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
        return if self.class.arguments.cover?(words.size)

        problem = (words.size < self.class.arguments.min) ? "something is missing" : "too many arguments: #{words.join(" ")}"
        fail_usage "#{problem}. Usage: penstock #{self.class.command_name} #{self.class.usage}"
      end

      def fail_usage(text)
        raise Usage, "#{self.class.command_name}: #{text}"
      end

      # All that commands print goes this way: names and texts of others must not drive the terminal. What may hold line breaks of
      # others is made one line where it is put together.
      def say(*lines)
        context.stdout.puts(*lines.flatten.map { |line| Printable.lines(line, nil) })
      end

      def warn_user(*lines)
        context.stderr.puts(*lines.flatten.map { |line| Printable.lines(line) })
      end

      def say_json(value)
        context.stdout.puts(Printable.json(value, pretty: true))
      end

      # @return [Boolean] whether somebody typed yes
      def confirmed?(question)
        context.stdout.print("#{Printable.line(question)} Type yes: ")
        context.stdout.flush
        context.stdin.gets.to_s.strip == "yes"
      end
    end
  end
end
