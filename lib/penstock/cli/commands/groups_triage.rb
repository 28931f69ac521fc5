# frozen_string_literal: true

require_relative "../groups/command"

module Penstock
  module CLI
    module Commands
      # Lists groups that need a person.
      class GroupsTriage < Groups::Command
        command "groups triage", "Lists groups that need a person: no members, no partitions, offsets outside of the log",
          usage: "[GROUP…] [options]", arguments: (0..)
        details <<~TEXT
          Looks at all groups, or those that are named. With --detailed-exitcode the code is 2 if there is a finding. If a group doesn't
          exist or can't be read, that is reported, and the code is 1.
        TEXT

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
          readable, all, found = connected { |admin| looked_at(admin, words) }
          options[:json] ? say_json(found.map(&:to_h)) : print(readable, found)
          return ExitCodes::FAILED if readable.size < all.size

          (options[:detailed] && found.any?) ? FINDINGS : ExitCodes::OK
        end

        # @return [(Array, Array, Array)] groups that could be read, all groups, findings
        def looked_at(admin, words)
          groups = words.empty? ? admin.groups.map { |row| row[:group] } : words
          infos, lags = infos(admin, groups), admin.group_lags(groups)
          readable = groups.select { |group| readable?(group, infos[group], lags[group], words.any?) }
          found = Groups::Triage.of(infos.slice(*readable), with_firsts(admin, lags.slice(*readable)),
            retention_minutes: retention(admin))
          [readable, groups, found]
        end

        # @param named [Boolean] by the user; one from the list of the cluster may have ended meanwhile
        def readable?(group, info, rows, named)
          error = [info, rows].grep(KafkaError).first
          warn_user "group #{group} can't be read: #{Printable.message(error)}" if error
          return false if error
          return true unless named && missing?(info, rows)

          refuse_missing(group)
          false
        end

        # @return [Hash{String => Array<Hash>}] with the first offset of each log
        def with_firsts(admin, lags)
          pairs = lags.values.flatten.select { |row| row[:end] }.map { |row| row.values_at(:topic, :partition) }.uniq
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
