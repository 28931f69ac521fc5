# frozen_string_literal: true

require_relative "../topics/command"

module Penstock
  module CLI
    module Commands
      # Creates and changes topics on the cluster so that it has them as declared, or makes the changes of a reviewed plan.
      class TopicsApply < Topics::Command
        command "topics apply", "Creates and changes topics as they are declared", usage: "[PLAN_FILE] [options]",
          arguments: 0..1, aliases: ["topics migrate"]
        details <<~TEXT
          Makes the changes that `penstock topics plan` shows: creates topics, adds partitions, sets properties. It never deletes
          topics, removes partitions or changes the number of replicas. Run again, it changes nothing.

          Changes that can cost records or their order (shorter retention, more partitions, compaction) are marked with "careful",
          and need --yes or a confirmation in the terminal. A plan from a file was reviewed and needs none, but it is refused when
          the cluster has changed since it was made.
        TEXT

        private

        def define(parser)
          super
          define_changing(parser)
        end

        def call(words)
          words.empty? ? change_declared : apply_file(words.first)
        end

        def apply_file(path)
          load_libraries
          file = Declaratives::PlanFile.parse(File.read(path))
          options[:yes] = true
          connected do |admin|
            file.verify!(Declaratives::ClusterState.read(admin, file.names))
            carry_out(admin, file.plan)
          end
        rescue Declaratives::PlanFile::Refused => error
          fail_usage "#{path} isn't applied: #{error.message}"
        rescue SystemCallError => error
          fail_usage "#{path} can't be read: #{error.message}"
        end
      end
    end
  end
end
