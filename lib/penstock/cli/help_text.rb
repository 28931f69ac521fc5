# frozen_string_literal: true

require_relative "exit_codes"

module Penstock
  module CLI
    # The text of `penstock COMMAND --help`: usage, description, options, exit codes.
    class HelpText
      # @param command [Class] subclass of {Command}
      # @param parser [Arguments]
      def initialize(command, parser)
        @command = command
        @parser = parser
      end

      def to_s
        [
          "Usage: penstock #{@command.command_name} #{@command.usage}".rstrip,
          "#{@command.summary}.", @command.details&.chomp,
          "Options:\n#{@parser.summary.chomp}",
          "Exit codes:\n#{ExitCodes}"
        ].compact.join("\n\n")
      end
    end
  end
end
