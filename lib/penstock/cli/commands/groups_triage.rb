# frozen_string_literal: true

require_relative "../groups/command"

module Penstock
  module CLI
    module Commands
      # Lists groups that need a person.
      class GroupsTriage < Groups::Command
        command "groups triage", "Lists groups that need a person: no members, no partitions, offsets outside of the log",
          usage: "[GROUP…] [options]", arguments: (0..)
        details "Looks at all groups, or those that are named. With --detailed-exitcode the code is 2 if there is a finding."

        SETTING = "offsets.retention.minutes"
        FINDINGS = 2
        private_constant :SETTING, :FINDINGS

        private

        def define(parser)
          super
          parser.flag(:json, "--json", "as JSON")
          parser.flag(:detailed, "--detailed-exitcode", "exit with 2 if there is a finding, 0 if there is none")
        end

        def call(words)
          require_relative "../groups/triage"
          groups, found = connected { |admin| looked_at(admin, words) }
          options[:json] ? say_json(found.map(&:to_h)) : print(groups, found)
          (options[:detailed] && found.any?) ? FINDINGS : ExitCodes::OK
        end

        def looked_at(admin, words)
          groups = words.empty? ? admin.groups.map { |row| row[:group] } : words
          infos = admin.group_infos(groups).select { |_group, info| info.is_a?(Hash) }
          [groups, Groups::Triage.of(infos, lags(admin, groups), retention_minutes: retention(admin))]
        end

        # With the first offset of each log.
        def lags(admin, groups)
          lags = admin.group_lags(groups).select { |_group, rows| rows.is_a?(Array) }
          pairs = lags.values.flatten.map { |row| row.values_at(:topic, :partition) }.uniq
          bounds = bounds_of(admin, pairs)
          lags.transform_values do |rows|
            rows.map { |row| {**row, first: bounds.dig(*row.values_at(:topic, :partition))&.first} }
          end
        end

        def bounds_of(admin, pairs)
          return {} if pairs.empty?

          admin.read_watermark_offsets(pairs.group_by(&:first).transform_values { |same| same.map(&:last) })
        end

        # @return [Integer, nil] nil if it can't be read
        def retention(admin)
          broker = admin.cluster_info[:brokers].first or return
          resource = Admin::Configs::Resource.new(type: :broker, name: broker[:id])
          admin.describe_configs(resource).first[SETTING]&.to_i
        rescue KafkaError
          nil
        end

        def print(groups, found)
          return say("#{(groups.size == 1) ? "1 group" : "#{groups.size} groups"}: nothing to report") if found.empty?

          found.each { |finding| say "#{finding.level.to_s.ljust(6)}  #{finding.group} #{finding.text}. #{finding.advice}" }
        end
      end
    end
  end
end
