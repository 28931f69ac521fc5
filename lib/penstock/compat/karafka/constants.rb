# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists constants of `Karafka` and `WaterDrop` that Penstock doesn't have, with their replacements: for code in
      # which only the first part of the name was replaced. {Hints} reports them.
      module Constants
        LATER = "isn't in this version"
        REST = "See docs/coming-from-karafka.md"
        private_constant :LATER, :REST

        # By their name within `Karafka` or `WaterDrop`.
        TOP_LEVEL = {
          AppError: "all errors include Penstock::Error",
          BaseError: "all errors include Penstock::Error",
          Cleaner: "`messages.each(clean: true)` and `message.clean!` need nothing else",
          Clients: "use Penstock::Testing::BufferedClient (require \"penstock/testing/buffered_client\"), or " \
            "config.deliver = false",
          Cli: "commands of your own are Rake tasks or scripts that load the boot file; `penstock --help` lists Penstock's",
          ConfigurationInvalidError: "rescue Penstock::ConfigurationError",
          ConnectionPool: "use Penstock::ProducerPool",
          Contracts: "mistakes are raised as Penstock::ConfigurationError, by validate!",
          Deserializers: "JSON is a topic's default; `deserializers` takes objects with `call`",
          Encryption: "encryption #{LATER}",
          Errors: "errors are directly in Penstock: Penstock::ConfigurationError (InvalidConfigurationError, " \
            "ConfigurationInvalidError), Penstock::ProduceError, Penstock::MessageInvalidError, … and all include " \
            "Penstock::Error",
          InvalidConfigurationError: "rescue Penstock::ConfigurationError",
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
          Logger: "use Ruby's: config.logger = Logger.new($stdout)",
          Notifications: "use Penstock::Instrumentation::Monitor; register_event adds events to it",
          Vendors: "Penstock::Monitors::StatsD (require \"penstock/monitors/stats_d\") sends metrics to Datadog, with names: " \
            ":karafka under the same names; Penstock::Monitors::AppSignal reports to AppSignal; config.health.port is for " \
            "Kubernetes' probes and, with config.metrics, for Prometheus; Penstock::Monitors::ErrorTracker reports errors"
        }.freeze

        # Within `Karafka::Messages`. Its `Message`, `Messages` and `Metadata` exist here, too.
        MESSAGES = {
          BatchMetadata: "it is what `messages.metadata` returns in a consumer",
          Builders: "a test gets messages by Penstock::Testing",
          Parser: "`deserializers` takes objects with `call`",
          Seek: "`seek` takes an offset or a time, and `mark_as_consumed` a message of the call: " \
            "messages.find { |message| message.offset == 5 }"
        }.freeze

        # Within `Karafka::Processing`.
        PROCESSING = {
          Filters: "a filter inherits from Penstock::Filter",
          Schedulers: "`workers max:, priority:, weight:` in a route takes the place of a scheduler"
        }.freeze

        # Within `Karafka::Swarm`.
        SWARM = {
          LivenessListener: "remove it: nodes report the progress of their work, within config.swarm.liveness_timeout",
          Manager: "`penstock swarm` or PenstockApp.swarm! supervises the nodes, and PenstockApp.nodes lists them"
        }.freeze

        # By namespace.
        WITHIN = {
          "Penstock" => TOP_LEVEL, "Penstock::Instrumentation" => INSTRUMENTATION, "Penstock::Messages" => MESSAGES,
          "Penstock::Processing" => PROCESSING, "Penstock::Swarm" => SWARM
        }.freeze

        # @param name [Symbol]
        # @param namespace [String]
        # @return [String, nil] the error text for a reference; nil if Karafka has no such constant either
        def self.message(name, namespace = "Penstock")
          hint = WITHIN.fetch(namespace)[name] and "there is no #{namespace}::#{name}: #{hint}. #{REST}"
        end

        # Extends the namespaces: the error for a constant of another framework names what to use here.
        module Hints
          # @raise [NameError]
          # @api private
          def const_missing(name)
            text = Constants.message(name, self.name) or return super
            error = NameError.new(text, name, receiver: self)
            error.set_backtrace(caller(1)) # without, Ruby's own hint would point at this line
            raise error
          end
        end
      end
    end
  end
end
