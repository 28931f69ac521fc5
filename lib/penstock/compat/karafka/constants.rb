# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists constants of `Karafka` and `WaterDrop` that Penstock doesn't have, with their replacements: for code in
      # which only the first part of the name was replaced. Loaded when such a constant is referenced.
      module Constants
        LATER = "isn't in this version"
        REST = "See docs/coming-from-karafka.md"
        private_constant :LATER, :REST

        # By their name within `Karafka` or `WaterDrop`.
        TOP_LEVEL = {
          AppError: "all errors include Penstock::Error",
          Clients: "use Penstock::Testing::BufferedClient (require \"penstock/testing/buffered_client\"), or " \
            "config.deliver = false",
          ConnectionPool: "use Penstock::ProducerPool",
          Contracts: "mistakes are raised as Penstock::ConfigurationError, by validate!",
          Deserializers: "JSON is a topic's default; `deserializers` takes objects with `call`",
          Encryption: "encryption #{LATER}",
          Errors: "errors are directly in Penstock: Penstock::ConfigurationError (InvalidConfigurationError, " \
            "ConfigurationInvalidError), Penstock::ProduceError, Penstock::MessageInvalidError, … and all include " \
            "Penstock::Error",
          Polling: "a producer is polled by a thread in C: there is nothing to configure",
          Pro: "there is no Pro edition: Pro::X is Penstock::X, if it exists. A filter inherits from " \
            "Penstock::Filter (Pro::Processing::Filters::Base)",
          RecurringTasks: "recurring tasks #{LATER.sub("isn't", "aren't")}",
          ScheduledMessages: "scheduled messages #{LATER.sub("isn't", "aren't")}: `delay_by` delays a whole topic",
          Server: "use the application's class: PenstockApp.run!, PenstockApp.workers, PenstockApp.snapshot",
          Setup: "a producer ignores consumers' properties: pass it the whole config.kafka",
          ShareGroupConsumer: "share groups #{LATER.sub("isn't", "aren't")}",
          Testing: "require \"penstock/testing/rspec\" or \"penstock/testing/minitest\" first, and include " \
            "Penstock::Testing::RSpec or Penstock::Testing::Minitest themselves; `karafka` is `penstock` there",
          Web: "the web UI #{LATER}; use `penstock status`, config.health.port and statistics"
        }.freeze

        # Within `Karafka::Instrumentation`.
        INSTRUMENTATION = {
          AssignmentsTracker: "use PenstockApp.assignments and PenstockApp.generations",
          Notifications: "use Penstock::Instrumentation::Monitor; register_event adds events to it",
          Vendors: "Penstock::Monitors::StatsD (require \"penstock/monitors/stats_d\") sends metrics to Datadog, with names: " \
            ":karafka under the same names; Penstock::Monitors::AppSignal reports to AppSignal; config.health.port is for " \
            "Kubernetes' probes and, with config.metrics, for Prometheus; Penstock::Monitors::ErrorTracker reports errors"
        }.freeze

        # @param name [Symbol]
        # @return [String, nil] the error text for a reference; nil if Karafka has no such constant either
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
