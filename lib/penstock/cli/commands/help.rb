# frozen_string_literal: true

require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Prints the overview, the overview of a family (`help topics`), or the help of one command (`help server`).
      class Help < Command
        command "help", "Lists the commands, or explains one", usage: "[COMMAND]", arguments: 0..2

        OPENING = <<~TEXT
          penstock runs Ruby code on Apache Kafka records.

          Usage: penstock COMMAND [options]
        TEXT

        private

        def call(words)
          known = Registry.shared[words.join(" ")]
          return known.new(context).run(["--help"]) if known && known != self.class

          return family(words) if words.any?

          say OPENING, "", overview(Registry.shared.all), "", "Exit codes:", ExitCodes.to_s, "", closing
        end

        # `--help` of this command prints the overview, not its own short text.
        def print_help(_parser)
          call([])
        end

        def family(words)
          commands = Registry.shared.family(words.join(" "))
          Registry.shared.resolve(words) if commands.empty? # raises with what is wrong with the name

          say overview(commands)
        end

        def overview(commands)
          shown = commands.reject(&:hidden?)
          width = shown.map { |command| command.command_name.size }.max
          shown.map { |command| "  #{command.command_name.ljust(width)}  #{command.summary}" }
        end

        def closing
          "`penstock COMMAND --help` explains a command and lists its options."
        end
      end
    end
  end
end
