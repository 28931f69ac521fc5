# frozen_string_literal: true

require_relative "constants"

module Penstock
  module Compat
    module Karafka
      # Raises for calls of `Karafka::Server`'s methods, with what to do instead: `Karafka::Server` is an object with
      # methods, `Penstock::Server` is a namespace, which this module extends.
      module Server
        private

        def method_missing(name, *)
          raise NoMethodError, "Penstock::Server has no #{name}: #{Constants::TOP_LEVEL.fetch(:Server)}", caller
        end

        def respond_to_missing?(name, all = false) = super
      end
    end
  end
end
