# frozen_string_literal: true

require_relative "../configs/command"

module Penstock
  module CLI
    module Commands
      # Shows settings of a topic, a broker or a group, and where each value comes from.
      class ConfigsShow < Configs::Command
        command "configs show", "Shows settings of a topic, a broker or a group", usage: "topic|broker|group NAME [options]",
          arguments: 2..2
        details "Shows what is set; --all also shows defaults. Secret values are never shown."

        private

        def define(parser)
          super
          parser.flag(:json, "--json", "as JSON")
          parser.flag(:all, "--all", "also settings with their default value")
        end

        def call(words)
          found = connected { |admin| admin.describe_configs(resource(*words)).first }
          configs = found.configs.select { |config| options[:all] || !config.default? }.sort_by(&:name)
          rows = configs.map { |config| [config.name, config.sensitive? ? "(secret)" : config.value, config.source] }
          return say_json(rows.map { |row| %w[name value source].zip(row).to_h }) if options[:json]
          return say("#{words.join(" ")}: only defaults; --all shows them") if rows.empty?

          say Table.new(%w[name value source], rows)
        end
      end
    end
  end
end
