# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Warns about Karafka's environment variables that a deployment still sets and that have no effect here. Without
      # the warning, a process meant for production would silently run as development. Stateless.
      module Environment
        NAMES = %w[ENV BOOT_FILE ROOT_DIR].freeze
        private_constant :NAMES

        # @param env [#[]] environment variables
        # @param logger [#warn]
        # @return [void]
        def self.warn_of(env, logger)
          NAMES.each do |name|
            next if env["KARAFKA_#{name}"].to_s.empty? || env["PENSTOCK_#{name}"]
            logger.warn("KARAFKA_#{name} is set and has no effect: set PENSTOCK_#{name} instead")
          end
        end
      end
    end
  end
end
