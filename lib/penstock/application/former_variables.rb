# frozen_string_literal: true

module Penstock
  class Application
    # Environment variables of the incumbent's that a deployment still sets, and that mean nothing here: a process that should be
    # production and is development is told nowhere else. Without state.
    module FormerVariables
      NAMES = %w[ENV BOOT_FILE ROOT_DIR].freeze
      private_constant :NAMES

      # @param env [#[]] environment variables
      # @param logger [#warn]
      # @return [void]
      def self.warn_of(env, logger)
        NAMES.each do |name|
          next if env["KARAFKA_#{name}"].to_s.empty? || env["PENSTOCK_#{name}"]
          logger.warn("KARAFKA_#{name} is set and has no effect: it is PENSTOCK_#{name} here")
        end
      end
    end
  end
end
