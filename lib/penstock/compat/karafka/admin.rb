# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Raises for commands of Karafka's Admin that this version doesn't have, with what to do instead;
      # `respond_to?` is false for them. Included in {Penstock::Admin} and its class.
      module Admin
        COMMANDS = {
          with_consumer: "use Penstock::Iterator",
          with_admin: "use Penstock::Admin.with { |admin| … }, or Penstock::Admin.open(…) for another cluster"
        }.freeze

        private

        def method_missing(name, *)
          way_out = COMMANDS[name] or return super
          raise NoMethodError, "Penstock::Admin has no #{name} in this version: #{way_out}", caller
        end

        def respond_to_missing?(name, all = false) = super
      end
    end
  end
end
