# frozen_string_literal: true

module Penstock
  module Routing
    module Dsl
      # One run of `routes.draw`: the draft it writes to, the available options of topics, and what macros remember.
      Session = Struct.new(:draft, :features, :tolerant_block, :notes) do
        # @return [Array<Symbol>] verbs of topics
        def verbs
          features.flat_map(&:verbs)
        end
      end
    end
  end
end
