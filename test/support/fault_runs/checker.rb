# frozen_string_literal: true

require_relative "database"

module Penstock
  module TestSupport
    module FaultRuns
      # Finds violations of the invariants in a finished {Database}, and computes figures. It uses nothing of Penstock:
      # what is allowed follows from the log, the committed offsets and the faults of the run.
      class Checker
        Violation = Struct.new(:check, :application, :what) do
          def to_s = [check.upcase.tr("_", " "), application, what].compact.join(": ")
        end

        # Causes of duplicates that a run allows by default. "during a fault" alone is a coincidence in time, and
        # "connection reset" or "opened without its ledger" are documented limits: a run must list them explicitly.
        ALLOWED = ["retry of its batch", "aborted transaction", "crash", "partition lost", "frozen process", "unit left running",
          "commit failed"].freeze

        # @return [Database]
        attr_reader :database

        # @param database [Database]
        # @param allowed [Array<String>] causes of duplicates
        # @param without [Array<String>] checks that don't apply to this run, by the beginning of their names
        def initialize(database, allowed: ALLOWED, without: [])
          @database = database
          @allowed = allowed
          @without = without
        end

        # @return [Array<Violation>]
        def violations = @violations ||= checked + not_allowed + damaged

        # @return [Hash{String => Hash{String => Integer}}] by application, then cause
        def duplicates
          rows = @database.rows("SELECT application, cause, count FROM doubled")
          rows.group_by(&:first).transform_values { |list| list.to_h { |_application, cause, count| [cause, count] } }
        end

        # @return [Hash{String => Hash}] by application: records done, longest stall of a partition (seconds, where, when)
        def figures
          @database.rows("SELECT name, topic FROM applications").to_h do |name, topic|
            [name, {records: @database.value("SELECT COUNT(*) FROM log WHERE topic = ?", topic),
                    done: @database.value("SELECT COUNT(*) FROM done WHERE application = ? AND topic = ?", name, topic),
                    runs: @database.value("SELECT COUNT(*) FROM runs WHERE application = ?", name), stall: stall(name)}]
          end
        end

        # @return [Hash{Symbol => Integer}] of producers
        def produced
          {intended: @database.value("SELECT COUNT(*) FROM intents"),
           **@database.rows("SELECT what, COUNT(*) FROM outcomes GROUP BY what").to_h { |what, count| [what.to_sym, count] }}
        end

        # @return [Hash, nil] the longest time for which a partition of the application had records available and
        #   processed none
        def stall(name)
          topic, partition, until_us, us = @database.rows("SELECT topic, partition, until, us FROM stalls " \
            "WHERE application = ? ORDER BY us DESC LIMIT 1", name).first
          us && {seconds: (us / 1e6).round(1), partition: "#{topic}/#{partition}", from: until_us - us, until: until_us}
        end

        private

        def checked
          names = @database.checks.reject { |name| @without.any? { |prefix| name.start_with?(prefix) } }
          names.flat_map do |name|
            @database.rows("SELECT application, what FROM #{name}").map { |application, what|
              Violation.new(name, application, what)
            }
          end
        end

        def not_allowed
          return [] if @without.include?("i5")

          @database.rows("SELECT application, cause, count FROM doubled").filter_map do |application, cause, count|
            next if cause == "unexplained" || @allowed.include?(cause)
            Violation.new("i5_not_allowed", application, "#{count} records ended again: #{cause}")
          end
        end

        # A journal that can't be trusted is no evidence.
        def damaged
          @database.rows("SELECT application, path, damaged, missing FROM processes WHERE damaged > 1 OR missing > 0 " \
            "OR (damaged = 1 AND ending IN ('exit 0', 'runs'))").map do |application, path, damaged, missing|
            Violation.new("journal", application, "#{path}: #{damaged} lines are damaged, #{missing} are missing")
          end
        end
      end
    end
  end
end
