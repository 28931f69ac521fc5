# frozen_string_literal: true

require "optparse"
require_relative "failure"
require_relative "../nearest"

module Penstock
  module CLI
    # Reads the options of one command into a Hash. `optparse` does the work: it ships with Ruby, loads in 5 ms and
    # needs no gem. This class adds: `_` and `-` are equivalent in names, an unknown option suggests the nearest one,
    # and the caller's ARGV is not changed, so it can be read again.
    class Arguments
      # @param values [Hash] filled with the given options, keys are Symbols
      # @param command_name [String] for error texts
      def initialize(values, command_name)
        @values = values
        @command_name = command_name
        @names = []
        @parser = OptionParser.new
      end

      # An option without a value.
      def flag(key, *names_and_text)
        remember(names_and_text)
        @parser.on(*names_and_text) { |value| @values[key] = value }
      end

      # An option with one value; with a type such as Integer among the arguments it is converted and checked.
      def value(key, *names_and_text)
        remember(names_and_text)
        @parser.on(*names_and_text) { |value| @values[key] = value }
      end

      # An option with an Integer of at least `from` and at most `to`.
      def number(key, *names_and_text, from: 1, to: nil)
        remember(names_and_text)
        name = names_and_text.grep(/\A--/).first[/\A--[a-z-]+/]
        @parser.on(*names_and_text, Integer) do |value|
          raise Usage, "#{@command_name}: #{name} must be at least #{from}, is #{value}" if value < from
          raise Usage, "#{@command_name}: #{name} must be at most #{to}, is #{value}" if to && value > to

          @values[key] = value
        end
      end

      # An option with several values, separated by commas or given more than once.
      def list(key, *names_and_text)
        remember(names_and_text)
        @parser.on(*names_and_text, Array) do |value|
          raise OptionParser::InvalidArgument, "it is empty" if value.compact.all?(&:empty?)
          raise OptionParser::InvalidArgument, "an item is empty: #{value.join(",")}" if value.any? { |item| item.to_s.empty? }

          (@values[key] ||= []).concat(value)
        end
      end

      # An option like `-X name=value`, given any number of times.
      def pairs(key, *names_and_text)
        remember(names_and_text)
        @parser.on(*names_and_text) do |text|
          name, value = text.split("=", 2)
          raise OptionParser::InvalidArgument, "#{text} (write NAME=VALUE)" if value.nil? || name.empty?

          (@values[key] ||= {})[name] = value
        end
      end

      # @param argv [Array<String>]
      # @return [Array<String>] the arguments that aren't options
      # @raise [Usage]
      def parse(argv)
        @parser.permute(normalize(argv))
      rescue OptionParser::InvalidOption => error
        raise Usage, "#{@command_name}: #{unknown(error.args.first)}"
      rescue OptionParser::ParseError => error
        raise Usage, "#{@command_name}: #{error.message}"
      rescue ArgumentError # `optparse` matches the words before -- against regular expressions
        word = argv.take_while { |one| one != "--" }.find { |one| !one.valid_encoding? } or raise
        raise Usage, "#{@command_name}: the argument #{word.inspect} isn't valid #{word.encoding}. Data with such bytes goes " \
          "after --"
      end

      # @return [String] one line per option
      def summary
        @parser.summarize.join
      end

      private

      def remember(names_and_text)
        names_and_text.grep(/\A--/).each do |text|
          name = text[/\A--(?:\[no-\])?([a-z-]+)/, 1]
          @names << "--#{name}"
          @names << "--no-#{name}" if text.start_with?("--[no-]")
        end
      end

      # `--include_topics=a_b` becomes `--include-topics=a_b`; arguments after `--` are data and stay as they are.
      def normalize(argv)
        data = argv.index("--") || argv.size
        argv.each_with_index.map do |word, index|
          next word unless index < data && word.start_with?("--")

          exact(word)
        end
      end

      # Option names can't be abbreviated, which `optparse` would allow: a new option could change the meaning of an
      # existing command line.
      def exact(word)
        name, equals, value = word.partition("=")
        name = name.tr("_", "-")
        raise OptionParser::InvalidOption, word unless name == "--" || @names.include?(name)

        [name, equals, value].join
      end

      def unknown(name)
        nearest = Nearest.to(name.to_s[/\A[^=]*/], @names)
        hint = nearest ? "Did you mean #{nearest}?" : "`penstock #{@command_name} --help` lists the options."
        "there is no option #{name}. #{hint}"
      end
    end
  end
end
