# frozen_string_literal: true

require_relative "../../version"
require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Prints only the version, for scripts; `info` and `doctor` print more.
      class Version < Command
        command "version", "Prints the version"

        private

        def call(_words)
          say "penstock #{VERSION}"
        end
      end
    end
  end
end
