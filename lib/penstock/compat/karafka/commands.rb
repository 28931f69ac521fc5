# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists commands of Karafka's command line that this version doesn't have, with what to do instead: the nearest
      # name may mean something else. Stateless.
      module Commands
        HINTS = {"web" => "This version has no web UI; use `penstock status`."}.freeze
        private_constant :HINTS

        # @param name [String] one word or two
        # @return [String, nil] a sentence
        def self.hint(name) = HINTS[name] || HINTS[name.split.first]
      end
    end
  end
end
