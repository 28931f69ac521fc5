# frozen_string_literal: true

module Penstock
  module TestSupport
    # Ruby's warnings about our own files are errors in tests; warnings about other people's gems stay warnings.
    module Warnings
      ROOT = File.expand_path("../..", __dir__)
      OURS = %r{\A#{Regexp.escape(ROOT)}/(?:lib|test|exe|ext)/[^\n]*: warning: }

      def warn(message, **)
        raise message if OURS.match?(message)

        super
      end
    end
  end
end

$VERBOSE = true
Warning[:deprecated] = true
Warning.extend(Penstock::TestSupport::Warnings)
