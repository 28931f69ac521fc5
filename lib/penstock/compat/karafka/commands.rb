# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Commands of Karafka's command line that this version doesn't have, each with what to do instead: the nearest name may be
      # far from what was meant (`topics health` isn't `topics delete`). Without state.
      module Commands
        TOPICS = "This version changes no topics by their routes: `penstock topics create` makes one, Kafka's kafka-topics.sh " \
          "and kafka-configs.sh change it."
        HINTS = {
          **%w[migrate plan align repartition reset].to_h { |word| ["topics #{word}", TOPICS] },
          "topics health" => "`penstock doctor --connect` looks at the cluster and the topics of the routes.",
          "web" => "This version has no web UI; `penstock status` asks a running process."
        }.freeze
        private_constant :TOPICS, :HINTS

        # @param name [String] one word or two
        # @return [String, nil] a sentence
        def self.hint(name) = HINTS[name] || HINTS[name.split.first]
      end
    end
  end
end
