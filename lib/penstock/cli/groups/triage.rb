# frozen_string_literal: true

module Penstock
  module CLI
    module Groups
      # Finds groups that need a person: nobody consumes, a rebalance doesn't end, offsets outside of the log. Pure, stateless.
      module Triage
        # `level` is :red (records are not consumed, or were skipped) or :yellow.
        Finding = Struct.new(:group, :level, :text, :advice, keyword_init: true)

        IDLE = %w[empty dead].freeze
        UNFINISHED = %w[preparingrebalance completingrebalance assigning reconciling].freeze

        class << self
          # @param infos [Hash{String => Hash}] by group, see {Admin#group_infos}
          # @param lags [Hash{String => Array<Hash>}] by group, see {Admin#group_lags}, with `lost`: how many records below the
          #   log's first offset the group has neither passed nor listed as complete
          # @param retention_minutes [Integer, nil] how long brokers keep the offsets of a group without members
          # @return [Array<Finding>] red ones first
          def of(infos, lags, retention_minutes: nil)
            found = infos.flat_map do |group, info|
              rows = lags.fetch(group, [])
              [*outside(group, rows), *states(group, info, rows, retention_minutes)]
            end
            found.sort_by { |finding| [(finding.level == :red) ? 0 : 1, finding.group] }
          end

          private

          def states(group, info, rows, retention_minutes)
            state = info[:state].to_s.downcase.delete(" -_")
            return idle(group, rows, retention_minutes) if IDLE.include?(state)
            return unfinished(group, info) if UNFINISHED.include?(state)

            unassigned(group, info)
          end

          def idle(group, rows, retention_minutes)
            return [] if rows.empty?

            left = rows.sum { |row| row[:incomplete].to_i - row[:lost].to_i }
            expiry = retention_minutes && "; brokers delete its offsets #{days(retention_minutes)} after its last member left"
            if left > 0
              return [red(group, "has no members, and #{records(left)} to consume#{expiry}",
                "Start its processes, or delete it")]
            end

            [yellow(group, "has no members, and nothing to consume#{expiry}", "Delete it if it isn't needed any more")]
          end

          def unfinished(group, info)
            [yellow(group, "is in state #{info[:state]} with #{members(info)}",
              "Run this again in a minute. If it lasts: find the member that doesn't answer (penstock groups show #{group})")]
          end

          def unassigned(group, info)
            return [] if info[:members].empty? || info[:members].any? { |member| member[:partitions].any? }

            [red(group, "has #{members(info)}, and none has a partition",
              "Do they subscribe to topics that exist?")]
          end

          def outside(group, rows)
            rows = rows.select { |row| row[:committed] && row[:end] } # without an end: the topic was deleted
            [ahead(group, rows.select { |row| row[:committed] > row[:end] }),
              below(group, rows.select { |row| row[:lost].to_i > 0 })].compact
          end

          def ahead(group, rows)
            return if rows.empty?

            red(group, "is ahead of the log in #{places(rows)}: it follows auto.offset.reset, or skips new records until their " \
              "offsets are reached", "Was the topic recreated? penstock groups reset #{group} --to earliest")
          end

          def below(group, rows)
            return if rows.empty?

            lost = rows.sum { |row| row[:lost] }
            red(group, "has committed offsets in #{places(rows)} that retention has deleted: #{records(lost)} " \
              "#{(lost == 1) ? "was" : "were"} never consumed",
              "With initial_offset earliest, its processes continue with the first record that is left. With latest they would " \
              "go to the end: stop them, and run penstock groups reset #{group} --to earliest. That repeats what the commit " \
              "lists as complete")
          end

          def records(count) = (count == 1) ? "1 record" : "#{count} records"

          def places(rows)
            names = rows.first(3).map { |row| "#{row[:topic]}/#{row[:partition]}" }.join(", ")
            (rows.size > 3) ? "#{names} and #{rows.size - 3} more partitions" : names
          end

          def members(info) = (info[:members].size == 1) ? "1 member" : "#{info[:members].size} members"
          def days(minutes) = (minutes >= 2_880) ? "#{minutes / 1_440} days" : "#{minutes} minutes"
          def red(group, text, advice) = Finding.new(group: group, level: :red, text: text, advice: advice)
          def yellow(group, text, advice) = Finding.new(group: group, level: :yellow, text: text, advice: advice)
        end
      end
    end
  end
end
