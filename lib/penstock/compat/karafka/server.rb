# frozen_string_literal: true

require_relative "constants"

module Penstock
  module Compat
    module Karafka
      # `Karafka::Server` is an object with methods, `Penstock::Server` is a namespace. This module extends it, so that a call of
      # such a method raises with what to do instead.
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
