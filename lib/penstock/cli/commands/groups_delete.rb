# frozen_string_literal: true

require_relative "../groups/command"

module Penstock
  module CLI
    module Commands
      # Deletes groups without members, with their offsets. Shows the offsets that would be lost first; deletes with a yes.
      class GroupsDelete < Groups::Command
        command "groups delete", "Deletes consumer groups without members, with their offsets", usage: "GROUP… [options]",
          arguments: (1..)
        details <<~TEXT
          A process that uses a deleted group begins again at auto.offset.reset. If one of several groups has members or doesn't exist,
          none is deleted.
        TEXT

        private

        def define(parser)
          super
          define_confirmation(parser)
        end

        def call(words)
          connected do |admin|
            lags = admin.group_lags(words)
            next ExitCodes::FAILED unless deletable?(infos(admin, words), lags)

            show(lags)
            next ExitCodes::FAILED unless agreed?("Delete #{words.join(", ")} with these offsets?")

            admin.delete_consumer_group(*words)
            done("deleted #{words.join(", ")}")
          end
        end

        # @param infos [Hash{String => Hash, KafkaError}]
        # @param lags [Hash{String => Array<Hash>, KafkaError}]
        def deletable?(infos, lags)
          known = infos.select { |_group, info| info.is_a?(Hash) }
          occupied = known.select { |_group, info| info[:members].any? }
          occupied.each { |group, info| refuse_members(group, info[:members]) }
          missing = known.select { |group, info| missing?(info, lags.fetch(group)) }.keys
          refuse_missing(*missing)
          occupied.empty? && missing.empty?
        end

        def show(lags)
          rows = lags.map do |group, found|
            found.is_a?(Array) ? [group, found.size, found.sum { |row| row[:lag].to_i }] : [group, nil, nil]
          end
          say Table.new(%w[group offsets lag], rows), ""
        end
      end
    end
  end
end
