# frozen_string_literal: true

module Penstock
  module TestSupport
    # Ruby's warnings about our own files are errors in tests; warnings about other people's gems stay warnings.
    module Warnings
      ROOT = File.expand_path("../..", __dir__)
      OURS = %r{\A#{Regexp.escape(ROOT)}/(?:lib|test|exe|ext)/[^\n]*: warning: }
      CIRCULAR = /loading in progress, circular require considered harmful - (?<file>.+)$/

      def warn(message, **)
        return if loaded_by_another_thread?(message)
        raise message if OURS.match?(message)

        super
      end

      private

      # Ruby 3.1 gives this warning also to a thread that has waited while another one loaded the file: then nothing is circular,
      # and the file is complete. In a circular require this thread itself is loading the file.
      def loaded_by_another_thread?(message)
        file = message[CIRCULAR, :file]
        !file.nil? && caller_locations.none? { |place| place.absolute_path == file }
      end
    end
  end
end

$VERBOSE = true
Warning[:deprecated] = true
Warning.extend(Penstock::TestSupport::Warnings)
