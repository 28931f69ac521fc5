# frozen_string_literal: true

module Penstock
  module Declaratives
    # The topics of a cluster, as far as plans need them. Immutable.
    #
    # `topics` are {ClusterState::Topic} by name; `brokers` is their number.
    ClusterState = Struct.new(:cluster_id, :brokers, :topics, keyword_init: true) do
      # Reads it with three requests, for any number of topics.
      #
      # @param admin [Admin]
      # @param names [Array<String>, nil] topics whose settings are needed; nil: all but internal ones
      # @return [ClusterState]
      # @raise [KafkaError] such as `:topic_authorization_failed` (DescribeConfigs)
      def self.read(admin, names = nil)
        cluster, all = admin.cluster_info, admin.topics(internal: !names.nil?, details: true)
        found = names ? all.slice(*names) : all
        configs = found.empty? ? {} : described(admin, found.keys)
        topics = found.to_h do |name, topic|
          [name, ClusterState::Topic.new(name: name, **topic, config: configs.fetch(name, {}))]
        end
        new(cluster_id: cluster[:cluster_id], brokers: cluster[:brokers].size, topics: topics)
      end

      def self.described(admin, names)
        resources = names.map { |name| Admin::Configs::Resource.new(type: :topic, name: name) }
        admin.describe_configs(*resources).to_h do |resource|
          [resource.name, resource.configs.to_h { |config| [config.name, ClusterState::Setting.of(config)] }]
        end
      end
      private_class_method :described
    end

    # One topic of the cluster. `partitions` is their number; `under_replicated` and `offline` count partitions with replicas
    # that are not in sync, and without a leader. `config` has a {Setting} by property.
    ClusterState::Topic = Struct.new(:name, :partitions, :replication_factor, :under_replicated, :offline, :config,
      keyword_init: true) do
      # @param name [String] a property, or the name that the brokers' own configuration has for it
      # @return [(String, Setting), nil] the property and its value
      def setting(name)
        return [name, config[name]] if config.key?(name)

        config.find { |_property, setting| setting.synonyms.include?(name) }
      end

      # @return [String, nil]
      def value(property) = config[property]&.value
    end

    # The value of a property. `own` means that it is set for this topic, not inherited from the brokers.
    ClusterState::Setting = Struct.new(:value, :own, :sensitive, :synonyms, keyword_init: true) do
      # @param config [Admin::Configs::Config]
      def self.of(config)
        new(value: config.value, own: config.source == :topic, sensitive: config.sensitive?,
          synonyms: config.synonyms.map(&:name))
      end
    end
  end
end
