# frozen_string_literal: true

require_relative "../config/memory_budget"
require_relative "../errors"
require_relative "boot_error"
require_relative "doctor/build"
require_relative "doctor/deployment"
require_relative "doctor/memory"
require_relative "doctor/server"
require_relative "doctor/session"
require_relative "doctor/step"
require_relative "doctor/tls"

module Penstock
  module CLI
    module Doctor
      # Runs all steps in order. A failed step skips those that depend on it, not the others.
      class Examination
        # @param target [Target] the cluster and application looked at
        # @param connect [Boolean] also try the network
        # @param deploy [Array<String>] files that define how the application is run
        # @param dir [String] folder that relative paths start from
        def initialize(target, connect: false, deploy: [], dir: ".")
          @target = target
          @connect = connect
          @deploy = deploy
          @dir = dir
        end

        # @return [Array<Step>]
        def steps
          configured, configuration = configure
          steps = [*Build.new.steps, configuration]
          return steps unless configured

          steps.concat(surroundings)
          steps.concat(deployment) if @deploy.any?
          steps.concat(network) if @connect
          steps << Memory.new(consumer_settings, lanes: lanes).step
        end

        private

        # Loading the application checks its whole configuration, against librdkafka itself.
        def configure
          application = @target.application
          return [true, without_application] unless application

          topics = application.validate!.routes.topics.size
          [true, Step.ok("configuration", "#{topics} topic#{"s" if topics != 1}, #{servers.join(", ")}")]
        rescue ConfigurationError, MissingBootFileError, BootError => error
          [false, Step.failed("configuration", error.message, nil)]
        end

        def without_application
          Step.ok("configuration", "#{@target.without_application_because}; #{servers.join(", ")}")
        end

        # Findings of the framework in which the application runs.
        def surroundings
          found = @target.application&.extensions&.warnings || []
          found.map { |warning| Step.failed(warning.path, warning.message, warning.hint) }
        end

        # Without an application the defaults apply.
        def deployment
          require_relative "../config/builder"
          application = @target.application
          settings = application&.config || Config::Builder.new.settings
          Deployment.new(@deploy, dir: @dir, shutdown_timeout_ms: settings.shutdown_timeout,
            health_host: (application.config.health.host if application)).steps
        end

        def network
          ways = servers.map { |server| Server.new(server, tls: tls).steps }
          steps = ways.flatten
          return steps + [Step.skipped("Kafka", "no server can be reached")] if ways.all? { |way| way.any?(&:failed?) }

          @session = Session.new(consumer_settings, topics: topics, groups: groups,
            retry_topics: @target.retry_topics, letter_topics: @target.letter_topics, delay_topics: @target.delay_topics,
            token_provider: @target.token_provider)
          steps + @session.steps
        end

        def tls
          @tls ||= Tls.new(consumer_settings) if consumer_settings["security.protocol"].to_s.downcase.include?("ssl")
        end

        def servers
          @target.kafka[:"bootstrap.servers"].to_s.split(",").map(&:strip)
        end

        def consumer_settings
          @consumer_settings ||= @target.consumer_settings
        end

        # Partitions this process may get: all of its topics, if the cluster was asked.
        def lanes
          (@session&.partitions || 0).then { |count| count.positive? ? count : Config::MemoryBudget::UNKNOWN_LANES }
        end

        def topics
          groups.values.flatten.uniq
        end

        def groups
          @groups ||= @target.groups
        end
      end
    end
  end
end
