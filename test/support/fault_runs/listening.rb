# frozen_string_literal: true

require "json"
require "logger"

module Penstock
  module TestSupport
    module FaultRuns
      # Writes the events of an application to the journal of its process.
      class Listening
        PARTITIONS = {"rebalance.partitions_assigned" => "assign", "rebalance.partitions_revoke" => "revoke",
                      "rebalance.partitions_revoked" => "revoked"}.freeze
        LETTERS = {"dead_letter_queue.dispatched" => "letter", "retry_topic.dispatched" => "retry", "consumer.skipped" => "skip",
                   "consumer.quarantined" => "quarantine"}.freeze
        NOTED = %w[rebalance.unit_left_running offsets.unavailable offsets.reopened consumer.offset_reset
          consumer.discontinuity offsets.metadata_ignored offsets.metadata_reduced breaker.opened breaker.closed client.reset
          consumer.suspected consumer.long_running producer.reloaded process_pool.child_died].freeze
        PLAIN = [String, Integer, Float, Symbol, true, false, nil].freeze

        # @param monitor [Penstock::Instrumentation::Monitor] of the application
        # @param journal [Journal]
        # @param logger [Logger] gets the lines that `penstock server` logs
        def self.install(monitor, journal, logger)
          monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(logger))
          new(monitor, journal).install
        end

        # Sets what every program of a fault run sets.
        # @param config [Penstock::Config::Settings]
        # @param plan [Hash]
        def self.configure(config, plan)
          config.client_id = [plan.fetch(:application), plan[:member]].compact.join("-")
          config.group_id = plan.fetch(:group)
          config.kafka = plan.fetch(:kafka)
          config.logger = Logger.new($stdout, level: Logger::INFO)
          config.concurrency = plan.fetch(:concurrency, 4)
          config.shutdown_timeout = plan.fetch(:shutdown_timeout, 20_000)
          config.flight_recorder_path = plan.fetch(:folder)
        end

        def initialize(monitor, journal)
          @monitor = monitor
          @journal = journal
        end

        def install
          partitions
          letters
          commits
          errors
          NOTED.each { |name| on(name) { |event| @journal.write("event", name, details(event)) } }
        end

        private

        def on(name, &block) = @monitor.subscribe(name, &block)

        def partitions
          PARTITIONS.each do |name, kind|
            on(name) do |event|
              event[:tpl].each { |topic, partition| @journal.write(kind, topic, partition, event.payload[:lost] ? 1 : 0) }
            end
          end
        end

        def letters
          LETTERS.each do |name, kind|
            on(name) do |event|
              @journal.write(kind, event[:topic], event[:partition], event[:offset], event.payload[:attempt], event.payload[:to])
            end
          end
        end

        def commits
          on("offsets.committed") do |event|
            event[:offsets].each { |topic, partition, offset| @journal.write("commit", topic, partition, offset) }
          end
          on("consumer.consuming.transaction") do |event|
            topic = event[:topic]
            @journal.write("transaction", topic.respond_to?(:name) ? topic.name : topic, event[:partition], event[:outcome])
          end
        end

        def errors
          on("error.occurred") do |event|
            @journal.write("error", event[:type], event[:error].class, event[:error].message.to_s[0, 200])
          end
        end

        def details(event)
          JSON.generate(event.payload.select { |_name, value| PLAIN.any? { |kind| kind === value } })
        end
      end
    end
  end
end
