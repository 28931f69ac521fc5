# frozen_string_literal: true

require "penstock"
require "penstock/admin"
require "penstock/cli/target"
require_relative "commands"

module Penstock
  module TestSupport
    # Runs `penstock topics …` for an application with declared topics and a cluster that is a Hash: topics by name, each with
    # `partitions`, `replication_factor` and `config`.
    module DeclaredTopics
      include Commands

      # Routes need a consumer.
      class Consumer < BaseConsumer
        def consume
        end
      end

      # The requests of these commands. Changes are in `topics` afterwards; names in `refused` raise.
      class Cluster
        attr_reader :topics_by_name, :requests
        attr_accessor :refused, :members

        def initialize(topics)
          @topics_by_name = topics.transform_values { |topic| {replication_factor: 3, config: {}, **topic} }
          @requests = 0
          @refused = {}
          @members = {}
        end

        def cluster_info
          @requests += 1
          {cluster_id: "c1", brokers: [{id: 1}, {id: 2}, {id: 3}]}
        end

        def topics(internal: false, details: false)
          @requests += 1 if details
          found = @topics_by_name.select { |name, _topic| internal || !name.start_with?("__") }
          found.transform_values { |topic|
            details ? {under_replicated: 0, offline: 0, **topic.except(:config)} : topic[:partitions]
          }
        end

        def describe_configs(*resources)
          @requests += 1
          resources.map do |resource|
            config = @topics_by_name.fetch(resource.name)[:config].map do |name, value|
              Admin::Configs::Config.new(name: name, value: value, source: :topic, sensitive: false, synonyms: [])
            end
            Admin::Configs::Resource.new(type: :topic, name: resource.name, configs: config)
          end
        end

        def create_topic(name, config:, **topic) = change(name) { @topics_by_name[name] = {**topic, config: config} }
        def create_partitions(name, total) = change(name) { @topics_by_name[name][:partitions] = total }
        def delete_topic(name) = change(name) { @topics_by_name.delete(name) }

        def alter_configs(resource)
          change(resource.name) do
            resource.operations.each { |_set, name, value| @topics_by_name[resource.name][:config][name] = value }
          end
        end

        def groups = @members.keys.map { |group| {group: group, state: "Stable"} }

        def group_infos(groups)
          groups.to_h { |group| [group, {members: [{partitions: @members.fetch(group).map { |topic| [topic, 0] }}]}] }
        end

        private

        def change(name)
          raise @refused[name] if @refused[name]

          yield
        end
      end

      # The application's declarations. A test sets it before {#topics}.
      def declare(&block)
        @application = Application.new("shop") { |config| config.kafka = {"bootstrap.servers": "here:1"} }
        @application.declaratives.draw(&block)
        @application.routing.draw { topic(:other) { consumer Consumer } }
      end

      # @return [Commands::Result]
      def topics(*argv, on: @cluster, **input)
        replacing(CLI::Target, Commands::Target.new(cluster: on, application: @application)) { penstock("topics", *argv, **input) }
      end
    end
  end
end
