# frozen_string_literal: true

require "socket"
require_relative "../errors"
require_relative "cluster"

module Penstock
  module Testing
    # Starts an embedded broker at the address where an application expects its broker, if that is on this machine and nothing
    # listens there. Stateless.
    module LocalBroker
      HOSTS = %w[127.0.0.1 localhost ::1].freeze
      DEFAULT_PORT = 9_092
      # Partitions of a topic whose route declares none.
      PARTITIONS = 4
      CONNECT_S = 1
      private_constant :HOSTS, :DEFAULT_PORT, :PARTITIONS, :CONNECT_S

      class << self
        # @param application [Application] valid; gets the settings that the embedded broker needs, unless it has its own
        # @return [Cluster, nil] a broker that listens; nil if none is needed, or none can stand in for the one that is
        # @raise [ConfigurationError] it can't be started there
        def start_for(application)
          kafka = application.config.kafka.transform_keys(&:to_s)
          addresses = addresses(kafka)
          return unless (port = port_for(addresses, kafka)) && addresses.none? { |address| listening?(*address) }
          start(port, topics(application)).tap { |cluster| adapt(application, cluster, kafka) }
        end

        private

        # @return [Array<(String, Integer)>] hosts and ports
        def addresses(kafka)
          list = kafka.values_at("bootstrap.servers", "metadata.broker.list").compact.join(",")
          list.split(",").map do |address|
            host, port = address.strip.delete_prefix("PLAINTEXT://").match(/\A\[?(.*?)\]?(?::(\d+))?\z/).captures
            [host, Integer(port || DEFAULT_PORT)]
          end
        end

        # The embedded broker has neither logins nor TLS.
        def port_for(addresses, kafka)
          return unless kafka.fetch("security.protocol", "plaintext").to_s.casecmp?("plaintext")
          addresses.find { |host, _port| HOSTS.include?(host) }&.last
        end

        def listening?(host, port)
          Socket.tcp(host, port, connect_timeout: CONNECT_S, &:close)
          true
        rescue SystemCallError, SocketError
          false
        end

        def topics(application)
          declared = application.declaratives.topics.to_h { |topic| [topic.name, topic.partitions] }
          routed = application.routes.topics.reject(&:pattern?).to_h { |topic| [topic.name, PARTITIONS] }
          {**routed, **declared}
        end

        def start(port, topics)
          Cluster.start(port: port, topics: topics)
        rescue WaitTimeoutError => error
          reason = error.message[/port \d+ can't be used: [^\n.]*/] || error.message
          raise ConfigurationError, "no broker listens at 127.0.0.1:#{port}, and none could be started there: #{reason}. " \
                                    "Start your broker, or set another address in config.kafka"
        end

        def adapt(application, cluster, kafka)
          protocol = (kafka["group.protocol"] == "consumer") ? :consumer : :classic
          needed = cluster.kafka(group_protocol: protocol).reject { |name, _| kafka.key?(name.to_s) }
          application.setup { |config| config.kafka = {**config.kafka, **needed} }
        end
      end
    end
  end
end
