# frozen_string_literal: true

require_relative "../config/tolerant_block"
require_relative "../errors"
require_relative "draft"
require_relative "topic"

module Penstock
  module Declaratives
    # Collects an application's declared topics: those of `declaratives.draw`, and those of routes with `config(…)`. The former
    # take precedence. Used by one thread at boot.
    #
    #     declaratives.draw do
    #       defaults { replication_factor 3 }
    #       topic(:orders) { partitions 6; config("retention.ms": 604_800_000); protect }
    #     end
    class Builder
      DEFAULTS = {partitions: 1, replication_factor: 1, active: true, protect: false}.freeze
      private_constant :DEFAULTS

      # @param routed [#call] returns the routed topics, as {Routing::Topic}
      # @param servers [#call] returns the application's `bootstrap.servers`
      # @param drawn [#call] called when declarations have changed
      def initialize(routed:, servers:, drawn: -> {})
        @routed = routed
        @servers = servers
        @changed = drawn
        @drafts = []
        @found = []
      end

      # Adds topics to those drawn before.
      # @return [self]
      def draw(&block)
        raise ArgumentError, "declaratives.draw needs a block" unless block

        @drafts << Config::TolerantBlock.new.run do |tolerant_block|
          @problems_of_block = [] # a block with a mistake runs again from the start
          Draft::Draw.new(tolerant_block, @problems_of_block).fill(block)
        end
        @found += @problems_of_block
        @changed.call
        self
      end

      # Discards what was drawn.
      # @return [self]
      def clear
        @drafts.clear
        @found = []
        @changed.call
        self
      end

      # @return [Array<Topic>] the active ones, sorted by name
      def topics
        from_routes.merge(drawn).values.compact.sort_by(&:name)
      end

      # @param name [String, Symbol]
      # @return [Topic, nil]
      def find_topic(name) = topics.find { |topic| topic.name == name.to_s }

      # @return [Array<String>] topics that commands must not delete, also inactive ones
      def protected_names
        drawn = @drafts.flat_map(&:topics).select { |entry|
          entry.given[:protect] || (shared[:protect] && entry.given[:protect].nil?)
        }
        routed = declared_routes.reject { |topic| names.include?(topic.name) }.select { |topic| topic.declaration.protect }
        (drawn + routed).map(&:name).uniq
      end

      # @return [Array<String>] names that `draw` declares, also inactive ones
      def names = @drafts.flat_map(&:topics).map(&:name).uniq

      # @return [Array<String>] topics that are routed with `config(…)` but belong to another cluster; commands leave them out
      def foreign = declared_routes.reject { |topic| here?(topic) }.map(&:name).uniq - names

      # @return [Array<Problem>]
      def problems = @found + twice

      # @return [String]
      def inspect = "#<#{self.class} #{@drafts.size} drawings>"

      private

      # @return [Hash{String => Topic, nil}] nil: declared as inactive, also if a route declares it
      def drawn
        @drafts.flat_map(&:topics).reverse.to_h do |entry|
          values = {**DEFAULTS, **shared, **entry.given}
          config = {**shared.fetch(:config, {}), **entry.given.fetch(:config, {})}
          [entry.name, (build(entry.name, values, config, entry.location) if values[:active])]
        end
      end

      def shared = @drafts.map(&:shared).reduce({}) { |all, one| all.merge(one) }

      def from_routes
        declared_routes.select { |topic| here?(topic) && topic.declaration.active }.reverse.to_h do |topic|
          declaration = topic.declaration
          config = declaration.details.to_h { |name, value| [name.to_s, value.is_a?(Array) ? value.join(",") : value.to_s] }
          [topic.name, build(topic.name, declaration.to_h, config, nil)]
        end
      end

      def declared_routes = @routed.call.select { |topic| topic.declaration && !topic.pattern? }

      # A route may have another cluster in its `kafka`.
      def here?(topic)
        servers = topic.kafka[:"bootstrap.servers"]
        servers.nil? || servers.to_s == @servers.call.to_s
      end

      def build(name, values, config, location)
        Topic.new(name: name, partitions: values.fetch(:partitions), replication_factor: values.fetch(:replication_factor),
          config: config.freeze, protected: values.fetch(:protect), location: location).freeze
      end

      def twice
        entries = @drafts.flat_map(&:topics)
        entries.group_by(&:name).values.select { |same| same.map(&:given).uniq.size > 1 }.map do |same|
          Problem.new("declaratives: topic #{same.first.name}",
            "is declared #{same.size} times, differently (#{same.filter_map(&:location).join(" and ")})", "Keep one of them")
        end
      end
    end
  end
end
