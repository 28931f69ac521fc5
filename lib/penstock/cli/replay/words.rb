# frozen_string_literal: true

require_relative "../../printable"
require_relative "../../processing/recording/offsets"

module Penstock
  module CLI
    module Replay
      # Renders entries of a recording as lines for a reader. Stateless.
      module Words
        # Kinds that only serve the replay.
        SILENT = %i[state stale gap of complete attempts].freeze

        LINES = {
          assigned: ->(epoch) { "assigned (epoch #{epoch})" },
          adopted: ->(offset, runs, tries) {
            "begins at #{offset || "the source's start"}#{", #{runs} runs complete beyond it" if runs.to_i.positive?}" \
              "#{", #{tries} records were being retried" if tries.to_i.positive?}"
          },
          take: ->(from, to, size, first, last, eof, *) {
            (size.zero? ? "took nothing, up to #{to}" : "took #{first}..#{last} (#{size} records), cursor #{from} to #{to}") +
              (eof ? ", end of the partition" : "")
          },
          unit: ->(action, first, last, size, attempt, key) {
            "handed out #{"#{action}: " unless action == "consume"}#{first}..#{last} (#{size})" \
              "#{", attempt #{attempt}" if attempt.to_i > 1}" \
              "#{", key #{key.is_a?(Integer) ? key.to_s(36) : key}" if key}"
          },
          outcome: ->(action, first, error, blamed, finished, base, time_us) {
            what = error ? "failed at #{blamed} with #{error}" : "succeeded"
            "#{(action == "consume") ? "unit" : action} #{first} #{what}#{", each left early" if finished == false}" \
              "#{", #{time_us} µs" if time_us}, base #{base}"
          },
          reached: ->(calls) { "the worker reached call #{calls} of the unit, the rest is handed out again" },
          wish: ->(name, *values) { "user code requests #{[name, *values.compact].join(" ")}" },
          asked: ->(name, *values) { "user code requests #{[name, *values.compact].join(" ")}, outside of a unit" },
          advice: ->(_kind, offset, *rest) { "results of callbacks for #{offset}: #{rest.compact.join(", ")}" },
          carried: lambda { |through, first, exact|
            "a transaction is committed, #{exact ? "with" : "through"} #{through}#{" in unit #{first}" if first}"
          },
          mark: ->(through, first) { first ? "marked through #{through} in unit #{first}" : "marked below #{through}" },
          let_in: ->(*row) { "admitted #{range(row)}" },
          dropped: ->(*row) { "filtered out #{range(row)}" },
          back: ->(count, _action, *firsts) { "called back #{count} units: #{firsts.join(", ")}" },
          commit: ->(offset, bytes, clean) { "commit of #{offset} sent (#{bytes} bytes of metadata#{", clean" if clean})" },
          committed: ->(offset, code = nil) { "commit of #{offset} #{code ? "refused: #{code}" : "acknowledged"}" },
          letter: ->(offset) { "dead letter of #{offset} acknowledged" },
          incarnation: ->(number, offset = nil) { "begins again at #{offset || "the source's place"} (incarnation #{number})" },
          went_on: ->(offset) { "continues at #{offset}" },
          probe: -> { "one record is tried while the breaker is open" },
          suspected: -> { "records that may have killed a process run one at a time" },
          expired: -> { "a wait has ended" },
          leave: -> { "takes nothing new: the partition is revoked, or the process stops" },
          cut_off: -> { "the shutdown timeout has ended" },
          lost: -> { "lost to another member" }
        }.freeze
        private_constant :LINES

        class << self
          # @param entry [Script::Entry]
          # @return [String, nil] nil for entries that only serve the replay
          def call(entry)
            Printable.line(words(entry)) unless SILENT.include?(entry.kind)
          end

          private

          def words(entry)
            return effect(entry) if entry.kind == :effect
            line = LINES[entry.kind]
            line ? line.call(*filled(entry.values, line)) : [entry.kind, *entry.values].join(" ")
          end

          def range(row)
            offsets = Processing::Recording::Offsets.of(row)
            offsets.empty? ? "more than is recorded" : "#{offsets.first}..#{offsets.last} (#{offsets.size})"
          end

          # A wait ends at a time on the recording's own clock.
          def effect(entry)
            name, *values = entry.values
            due = values.pop if %w[Hold Park].include?(name) && values.last.is_a?(Integer)
            ["  #{name}", values.compact.join(", "), ("for #{due - entry.at} ms" if due).to_s].reject(&:empty?).join(" ")
          end

          # Trailing nils aren't recorded.
          def filled(values, line)
            wanted = line.arity.negative? ? ~line.arity : line.arity
            values + Array.new([wanted - values.size, 0].max)
          end
        end
      end
    end
  end
end
