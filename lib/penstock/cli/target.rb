# frozen_string_literal: true

require_relative "../errors"
require_relative "../on_demand"
require_relative "boot"

module Penstock
  module CLI
    # Selects the cluster of a command: the one of `--bootstrap`, else the application's, else, if there is no boot
    # file, the one of KAFKA_BOOTSTRAP_SERVERS. `-X name=value` adds or replaces single librdkafka properties.
    class Target
      VARIABLE = "KAFKA_BOOTSTRAP_SERVERS"
      # The default of `prefetch_budget_bytes`.
      BUDGET_BYTES = 64 * 1024 * 1024
      # Time limit of each administration call in seconds.
      LIMIT_S = 15
      # Longest one: librdkafka takes the milliseconds as a C int.
      MOST_S = 86_400
      # The way out if the application can't be loaded, for instance because its database is down.
      WITHOUT_LOADING = "With --bootstrap HOST:PORT this command doesn't load the application; -X NAME=VALUE sets properties " \
        "such as security.protocol."
      private_constant :WITHOUT_LOADING

      # Declares the options that {new} reads.
      #
      # @param parser [Arguments]
      def self.define(parser)
        parser.value(:bootstrap, "--bootstrap SERVERS", "host:port[,…] of the cluster (default: the application's)")
        parser.pairs(:properties, "-X", "--property NAME=VALUE", "a librdkafka property; may be repeated")
      end

      # The same for commands that ask the cluster and wait for its answer.
      #
      # @param parser [Arguments]
      def self.define_with_timeout(parser)
        define(parser)
        parser.number(:timeout, "--timeout SECONDS", "time limit of each call (#{LIMIT_S})", to: MOST_S)
      end

      # @param context [Context]
      # @param options [Hash] `:bootstrap`, `:properties`
      def initialize(context, options)
        @context = context
        @options = options
      end

      # @return [Hash{Symbol => Object}] librdkafka's settings, as in `config.kafka`
      # @raise [MissingBootFileError] neither an address nor an application is known
      def kafka
        @kafka ||= base.merge(extra)
      end

      # @return [Hash{Symbol => Object}] the same for administration: with the application's `config.admin.kafka`
      def administration
        kafka.merge(application ? application.config.admin.kafka : {}, extra)
      end

      # @return [Application, nil] nil if the address came from elsewhere
      # @raise [BootError] the boot file raised an error
      def application
        return if @options[:bootstrap]

        @application ||= Boot.new(@context).application
      rescue MissingBootFileError => error
        return if from_environment

        raise MissingBootFileError, "#{error.message}\nWithout an application, --bootstrap HOST:PORT names the cluster."
      rescue Error => error
        require_relative "boot_error"
        raise unless error.is_a?(BootError)
        raise error, "#{error.message}\n\n#{WITHOUT_LOADING}"
      end

      # @return [Hash{String => String}] librdkafka's settings of a consumer of this cluster
      def consumer_settings
        require_relative "../config/kafka_map"

        group = application&.validate!&.routes&.subscription_groups&.first
        ours = group ? Config::KafkaMap.consumer(application.config, group) : without_application
        ours.to_h.merge(extra.to_h { |name, value| [name.to_s, value.to_s] })
      end

      # @return [Hash{String => Array<String>}] consumer groups of the application and the topics they consume
      def groups
        return {} unless application

        application.validate!.routes.consumer_groups.to_h do |group|
          [group.id, group.topics.select { |topic| topic.active? && !topic.pattern? }.map(&:name)]
        end
      end

      # @param group [String] id of a consumer group
      # @param topic [String]
      # @return [String, nil] where the application's group sends the records of the topic that fail permanently
      def dead_letter_topic(group, topic)
        found = application&.validate!&.routes&.consumer_groups&.find { |one| one.id == group }
        features = found&.topics&.find { |one| one.name == topic }&.features or return
        features[:dead_letter_queue]&.topic_name || features[:retry_topics]&.finally || nil
      end

      # @return [Array<String>] names of the application's retry topics, which it creates when it starts
      def retry_topics
        topics = application ? application.validate!.routes.topics : []
        topics.select { |topic| topic.features[:retry_topics]&.delayed? }.map(&:name)
      end

      # @return [Array<String>] topics to which the application sends failed records (dead letters and retries), and which it
      #   creates when it starts
      def letter_topics
        require_relative "../runtime/letter_topics"
        topics = application ? application.validate!.routes.topics.select(&:active?) : []
        Runtime::LetterTopics.wanted(topics).map(&:name)
      end

      # @return [Hash{String => Integer}] the topics of the application's delayed messages, which it creates when it starts, and
      #   for how many ms a record waits in each
      def delay_topics
        tiers = application&.validate!&.routes&.delay_tiers
        tiers ? tiers.each.to_h { |tier| [tier.topic, tier.delay_ms] } : {}
      end

      # @return [String] why there is no {#application}
      def without_application_because
        @options[:bootstrap] ? "--bootstrap names the cluster, so no application is loaded" : "there is no application here"
      end

      # Opens a connection for administration calls while the block runs.
      #
      # @yieldparam admin [Admin]
      # @return [Object] what the block returns
      # @raise [KafkaError]
      def admin(&block)
        Admin.open(administration, timeout_ms: @options.fetch(:timeout, LIMIT_S) * 1_000, token_provider: token_provider, &block)
      end

      # A connection that reads for a command, without a group.
      #
      # @param timeout_ms [Integer] time limit of each request, and of waiting for a partition
      # @param follow [Boolean] whether it waits for new records, instead of ending with those that exist
      # @return [Reading::Connection] the caller must close it
      def reader(timeout_ms, follow: false)
        settings = consumer_settings.except("group.id")
        require_relative "../reading/connection"

        Reading::Connection.new(Config::KafkaMap.reading(settings, follow: follow), timeout_ms: timeout_ms,
          token_provider: token_provider)
      end

      # @return [#on_oauthbearer_token_refresh, nil] the application's provider of OAuth tokens
      def token_provider
        application&.config&.oauth&.token_provider_listener || nil
      end

      private

      def base
        return {"bootstrap.servers": @options[:bootstrap]} if @options[:bootstrap]

        application ? application.config.kafka : {"bootstrap.servers": from_environment}
      end

      # The minimum that an application of this cluster would set: Penstock divides the memory.
      def without_application
        budget = Config::MemoryBudget.new(BUDGET_BYTES).properties
        budget.merge(Config::KafkaMap.strings(kafka, :consumer))
      end

      def extra
        (@options[:properties] || {}).transform_keys(&:to_sym)
      end

      def from_environment
        value = @context.env[VARIABLE].to_s
        value unless value.empty?
      end
    end
  end
end
