# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists options of Karafka's routes that Penstock doesn't have, with what to do instead. Stateless.
      module Routing
        LATER = "this version has no"
        private_constant :LATER

        VERBS = {
          declaratives: "Write config(partitions:, replication_factor:, …) in the topic's block",
          delaying: "Use delay_by",
          direct_assignments: "Use assign",
          expiring: "Use expire_in",
          filtering: "Use filter",
          multiplexing: "multiplexing belongs inside of a subscription_group's block",
          parallel_segments: "parallel_segments belongs inside of a consumer_group's block",
          periodics: "Use periodic",
          recurring_tasks: "#{LATER.capitalize} recurring tasks: leave them where they are",
          retrying: "Use pause, or backoff_for for certain errors",
          scheduled_messages: "Write delay_topics, and send with `PenstockApp.delays.schedule(message, at: time)`",
          share_group: "#{LATER.capitalize} share groups: use consumer_group, and `parallel by: :message` for records " \
            "in parallel"
        }.freeze

        # Options of virtual partitions that don't set a record's key.
        WITHOUT_KEYS = %i[max_partitions offset_metadata_strategy reducer distribution].freeze
        private_constant :WITHOUT_KEYS

        # @param verb [Symbol] as it was written
        # @param options [Hash{Symbol => Object}]
        # @return [Array(String, String), nil] an option that would mean something else here than in Karafka, and what to do
        def self.refusal(verb, options)
          return unless verb == :virtual_partitions && (options.keys - WITHOUT_KEYS).empty?
          ["virtual_partitions has no partitioner, without which Karafka runs a partition's records in order",
            "Remove it, or give it a partitioner. `parallel by: :key` runs the records of each key in order"]
        end

        # @param name [Symbol]
        # @return [String, nil] what to do instead; nil if Karafka has no such option either
        def self.instead(name) = VERBS[name.to_sym]
      end
    end
  end
end
