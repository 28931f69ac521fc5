# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Constants that `Karafka` and `WaterDrop` have and Penstock doesn't, each with what takes its place: for code in which only
      # the first part of the name was replaced. Loaded when such a constant is referenced.
      module Constants
        LATER = "isn't in this version"
        REST = "docs/coming-from-karafka.md has the rest"
        private_constant :LATER, :REST

        # By their name below `Karafka` or `WaterDrop`.
        TOP_LEVEL = {
          ActiveJob: "the Active Job adapter #{LATER}",
          AppError: "all errors have the module Penstock::Error",
          Clients: "it is Penstock::Testing::BufferedClient (require \"penstock/testing/buffered_client\"), or " \
            "config.deliver = false",
          ConnectionPool: "it is Penstock::ProducerPool",
          Contracts: "what is wrong is told as Penstock::ConfigurationError, by validate!",
          Deserializers: "JSON is what a topic has that says nothing; `deserializers` takes objects with `call`",
          Encryption: "encryption #{LATER}",
          Errors: "errors stand beside it: Penstock::ConfigurationError (InvalidConfigurationError, " \
            "ConfigurationInvalidError), Penstock::ProduceError, Penstock::MessageInvalidError, … each with the module Penstock::Error",
          Iterator: "the iterator #{LATER}: `penstock tail` shows records, a consumer with a group of its own reads them",
          Polling: "a producer is polled by a thread in C: there is nothing to set up",
          Pro: "nothing is set apart: what was Pro::X is Penstock::X where it is there at all. A filter inherits from " \
            "Penstock::Filter (Pro::Processing::Filters::Base)",
          Process: "tags of a process aren't there: consumers have `tags`, and config.client_id names the process",
          RecurringTasks: "recurring tasks #{LATER.sub("isn't", "aren't")}",
          ScheduledMessages: "scheduled messages #{LATER.sub("isn't", "aren't")}: `delay_by` delays a whole topic",
          Server: "an application is its own server: PenstockApp.run!, PenstockApp.scale(n) (workers.scale), " \
            "PenstockApp.snapshot",
          Setup: "a producer leaves consumers' properties out by itself: config.kafka may be handed to it whole",
          ShareGroupConsumer: "share groups #{LATER.sub("isn't", "aren't")}",
          Web: "the web UI #{LATER}; `penstock status`, config.health.port and statistics tell of a process"
        }.freeze

        # Below `Karafka::Instrumentation`.
        INSTRUMENTATION = {
          AssignmentsTracker: "PenstockApp.assignments and PenstockApp.generations tell it",
          Notifications: "Penstock::Instrumentation::Monitor is the bus, register_event adds events to it",
          Vendors: "Penstock::Monitors::DatadogProducer (require \"penstock/monitors/datadog_producer\") has a producer's " \
            "metrics; config.health.port is what Kubernetes asks. Others are a listener of a few lines"
        }.freeze

        # @param name [Symbol]
        # @return [String, nil] the error text for a reference to it; nil if Karafka has no such constant either
        def self.message(name)
          hint = TOP_LEVEL[name] and "there is no Penstock::#{name}: #{hint}. #{REST}"
        end

        # @param name [Symbol]
        # @return [String, nil] the same for a constant of Instrumentation
        def self.instrumentation_message(name)
          hint = INSTRUMENTATION[name] and "there is no Penstock::Instrumentation::#{name}: #{hint}"
        end
      end
    end
  end
end
