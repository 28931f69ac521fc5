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
          require_relative "../../native/envelope"
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
          found = Groups::Triage.of(infos.slice(*readable), with_losses(admin, lags.slice(*readable)),
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

        # @return [Hash{String => Array<Hash>}] with `lost`, see {Groups::Triage.of}
        def with_losses(admin, lags)
          firsts = firsts_of(admin, lags.values.flatten.select { |row| row[:end] }.map { |row| place(row) }.uniq)
          lags.to_h do |group, rows|
            below = rows.select { |row| row[:committed] && row[:committed] < firsts.fetch(place(row), 0) }
            losses = losses(admin, group, below.map { |row| place(row) }, firsts)
            [group, rows.map { |row| {**row, lost: losses.fetch(place(row), 0)} }]
          end
        end

        # The commit's metadata lists the complete records beyond its offset. It may have moved since the lag was read.
        # @return [Hash{(String, Integer) => Integer}]
        def losses(admin, group, pairs, firsts)
          return {} if pairs.empty?

          topics = pairs.group_by(&:first).transform_values { |same| same.map(&:last) }
          rows = admin.read_committed_offsets(group, topics).select { |row| row[:offset] }
          rows.to_h { |row| [place(row), lost(row, firsts.fetch(place(row)))] }
        end

        def lost(row, first)
          offset = row[:offset]
          complete = Native::Envelope.decode(row[:metadata], base: offset, topic: row[:topic]).completed
          [first - offset, 0].max - complete.sum { |from, to| [[to, first].min - [from, offset].max, 0].max }
        end

        # @return [Hash{(String, Integer) => Integer}] the first offset of each log
        def firsts_of(admin, pairs)
          return {} if pairs.empty?

          bounds = admin.read_watermark_offsets(pairs.group_by(&:first).transform_values { |same| same.map(&:last) })
          pairs.to_h { |pair| [pair, bounds.dig(*pair).first] }
        end

        def place(row) = row.values_at(:topic, :partition)

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
