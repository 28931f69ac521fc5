# frozen_string_literal: true

require_relative "check"

module Penstock
  module Checks
    # RuboCop, with the project's configuration.
    class Style < Check
      private

      def problems
        output, clean = run("bundle", "exec", "rubocop", "--format", "emacs", "--no-color")
        clean ? [] : output.lines(chomp: true)
      end
    end
  end
end
