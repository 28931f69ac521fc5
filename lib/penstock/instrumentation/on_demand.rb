# frozen_string_literal: true

require_relative "../compat/karafka/constants"

module Penstock
  module Instrumentation
    # Listeners that few programs need, loaded when their constant is referenced.
    LISTENERS = {
      LoggerListener: "penstock/instrumentation/logger_listener", ProctitleListener: "penstock/instrumentation/proctitle_listener"
    }.freeze
    private_constant :LISTENERS

    extend Compat::Karafka::Constants::Hints

    # @api private
    def self.const_missing(name)
      if LISTENERS.key?(name)
        require LISTENERS.fetch(name)
        return const_get(name, false)
      end
      super
    end
  end
end
