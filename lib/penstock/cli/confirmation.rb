# frozen_string_literal: true

module Penstock
  module CLI
    # Commands that change something show what they would change first, and then need `--yes` or a confirmation in the terminal.
    # Included in commands.
    module Confirmation
      private

      # @param parser [Arguments]
      def define_confirmation(parser) = parser.flag(:yes, "--yes", "don't ask")

      # @param question [String] what happens with a yes
      # @return [Boolean] false: nothing must be changed; the user knows it
      def agreed?(question)
        return true if options[:yes]
        return confirmed?(question) if context.stdin.tty?

        warn_user "nothing was changed: pass --yes to change it"
        false
      end
    end
  end
end
