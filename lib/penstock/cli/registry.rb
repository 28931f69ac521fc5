# frozen_string_literal: true

require_relative "../errors"
require_relative "failure"
require_relative "../compat/karafka/commands"
require_relative "../nearest"

module Penstock
  module CLI
    # Finds commands by name. A name has one word (`server`) or two (`topics list`); the first of two words alone stands
    # for the overview of that family. Filled at load and then only read; belongs to the main thread.
    class Registry
      # @return [Registry] the one in which commands register
      def self.shared
        @shared ||= new
      end

      def initialize
        @commands = {}
      end

      # @param command [Class] subclass of {Command}
      def add(command)
        [command.command_name, *command.aliases].each do |name|
          raise ArgumentError, "two commands are called #{name.inspect}" if @commands.key?(name)

          @commands[name] = command
        end
      end

      # @return [Array<Class>] each command once, in the order of the files
      def all
        @commands.values.uniq
      end

      # @param family [String] first word of a name
      # @return [Array<Class>]
      def family(family)
        all.select { |command| command.command_name.start_with?("#{family} ") }
      end

      # @param argv [Array<String>]
      # @return [(Class, Array<String>)] the command and its arguments
      # @raise [UnknownCommandError] with the nearest name
      def resolve(argv)
        words = argv.take_while { |word| !word.start_with?("-") }
        return [self["help"], argv] if words.empty? && !version?(argv)
        return [self["version"], []] if words.empty?

        two = words.take(2).join(" ")
        return [@commands[two], argv.drop(2)] if @commands.key?(two) && words.size > 1
        return [@commands[words.first], argv.drop(1)] if @commands.key?(words.first)

        resolve_family(words, argv)
      end

      # @return [Class, nil]
      def [](name)
        @commands[name]
      end

      private

      def version?(argv)
        ["--version", "-v"].include?(argv.first)
      end

      # `penstock topics --help` explains the family; a missing or wrong second word is an error.
      def resolve_family(words, argv)
        words = words.map(&:scrub) # an argument may have any bytes
        commands = family(words.first)
        unknown(words.first) if commands.empty?
        unknown_of_family(words, commands) if words.size > 1
        return [self["help"], words] if argv.any? { |word| ["--help", "-h"].include?(word) }

        names = commands.map { |command| "`penstock #{command.command_name}`" }
        raise Usage, "#{words.first}: which one? #{names.join(", ")}"
      end

      def unknown(name)
        names = @commands.keys + all.map { |command| command.command_name.split.first }
        nearest = Nearest.to(name, names.uniq)
        refuse(name, nearest ? "Did you mean `penstock #{nearest}`?" : "`penstock help` lists the commands.")
      end

      # Compares the second word only: with the first one, all commands of the family would be near.
      def unknown_of_family(words, commands)
        names = commands.to_h { |command| [command.command_name.split.last, command.command_name] }
        nearest = names[Nearest.to(words[1], names.keys)]
        family = "`penstock #{words.first}` has #{names.keys.join(", ")}."
        refuse(words.take(2).join(" "), nearest ? "Did you mean `penstock #{nearest}`?" : family)
      end

      def refuse(name, hint)
        raise UnknownCommandError, "there is no command #{name.inspect}. #{Compat::Karafka::Commands.hint(name) || hint}"
      end
    end
  end
end
