# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Native
    # Loads the compiled parts of the driver. Where one wasn't built, the error names the way to build it. Stateless.
    module Extension
      # The compiled part is missing: the clone was not set up, or the gem's build was left out.
      class MissingError < LoadError
        include Error
      end

      ROOT = File.expand_path("../../..", __dir__)
      private_constant :ROOT

      class << self
        # @param name [String] "penstock_kafka" or "penstock_core"
        # @param root [String] folder of the gem, or of the clone
        # @raise [MissingError]
        # @raise [LoadError] it exists and can't be loaded: it was built for another Ruby, or a library of the system is missing
        def load(name, root: ROOT)
          require "penstock/#{name}"
        rescue LoadError => error
          raise unless error.path == "penstock/#{name}"

          raise MissingError, "Penstock's native extension isn't built (penstock/#{name} can't be found): #{way_out(root)}"
        end

        private

        # Only a clone has bin/setup.
        def way_out(root)
          setup = File.join(root, "bin/setup")
          return "run bin/setup in #{root}" if File.file?(setup)

          "install the gem again with `gem pristine penstock --extensions`, or in a bundle `bundle pristine penstock`"
        end
      end
    end
  end
end
