# frozen_string_literal: true

require_relative "../errors"
require_relative "broker_requests"

module Penstock
  module Runtime
    # Explains that the brokers don't offer `group.protocol: consumer` (KIP-848). Without the check at boot, librdkafka looks for
    # another coordinator for ever, silently, where the brokers don't know the request; where they know and refuse it, its
    # error is fatal. Stateless.
    module GroupProtocol
      NEEDED = "4.0"
      REMOVE = "Remove group.protocol from config.kafka"
      SWITCH_ON = "#{REMOVE}, or switch it on there: the broker's group.coordinator.rebalance.protocols must contain consumer, " \
        "and the cluster's feature group.version must be 1 (kafka-features.sh upgrade --feature group.version=1)".freeze
      private_constant :NEEDED, :REMOVE, :SWITCH_ON

      class << self
        # Asks each cluster once. Called by the thread that starts the application.
        # @param groups [Array<Routing::SubscriptionGroup>]
        # @param properties [#call] returns librdkafka's properties of a group
        # @param logger [Logger]
        # @param ask [#call] properties -> {BrokerRequests} or nil
        # @raise [ConfigurationError] a cluster's brokers are too old
        def check!(groups, properties, logger, ask)
          members = groups.select { |group| group.consumer_protocol? && !group.direct? }
          problems = members.group_by { |group| servers(group) }.filter_map do |servers, (group, *)|
            requests = ask.call(properties.call(group))
            next unchecked(logger, servers) unless requests
            too_old(servers, requests) unless requests.consumer_protocol?
          end
          raise ConfigurationError, problems if problems.any?
        end

        # @param group [Routing::SubscriptionGroup] whose coordinator refuses the protocol
        # @param requests [BrokerRequests, nil]
        # @return [ConfigurationError]
        def refused(group, requests)
          servers = servers(group)
          return ConfigurationError.new([too_old(servers, requests)]) if requests && !requests.consumer_protocol?
          reason = requests ? "(Kafka #{requests.kafka_version})" : "(or they are older than Kafka #{NEEDED})"
          text = "group.protocol: consumer (KIP-848) is switched off on the brokers at #{servers} #{reason}"
          ConfigurationError.new([Problem.new("config.kafka", text, SWITCH_ON)])
        end

        private

        def servers(group) = group.kafka.values_at(:"bootstrap.servers", :"metadata.broker.list").compact.join(",")

        def too_old(servers, requests)
          Problem.new("config.kafka", "group.protocol: consumer (KIP-848) needs Kafka #{NEEDED} or newer, but the broker at " \
            "#{servers} is Kafka #{requests.kafka_version}", "#{REMOVE}, or upgrade all brokers first")
        end

        def unchecked(logger, servers)
          logger.warn("could not check whether the brokers at #{servers} have group.protocol: consumer (Kafka #{NEEDED} or " \
            "newer): none answered")
          nil
        end
      end
    end
  end
end
