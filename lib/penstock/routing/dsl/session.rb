# frozen_string_literal: true

module Penstock
  module Routing
    module Dsl
      # One run of a drawing: where it writes to and what topics can be told.
      Session = Struct.new(:draft, :features, :tolerant_block) do
        # @return [Array<Symbol>] verbs of topics
        def verbs
          features.flat_map(&:verbs)
        end
      end
    end
  end
end
