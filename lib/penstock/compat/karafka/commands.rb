# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists commands of Karafka's command line that this version doesn't have, with what to do instead: the nearest
      # name may mean something else (`topics health` isn't `topics delete`). Stateless.
      module Commands
        TOPICS = "This version doesn't change topics from routes: use `penstock topics create`, or Kafka's kafka-topics.sh " \
          "and kafka-configs.sh."
        HINTS = {
          **%w[migrate plan align repartition reset].to_h { |word| ["topics #{word}", TOPICS] },
          "topics health" => "`penstock doctor --connect` checks the cluster and the topics of the routes.",
          "web" => "This version has no web UI; use `penstock status`."
        }.freeze
        private_constant :TOPICS, :HINTS

        # @param name [String] one word or two
        # @return [String, nil] a sentence
        def self.hint(name) = HINTS[name] || HINTS[name.split.first]
      end
    end
  end
end
