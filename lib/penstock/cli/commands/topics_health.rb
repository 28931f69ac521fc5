# frozen_string_literal: true

require_relative "../topics/command"

module Penstock
  module CLI
    module Commands
      # Lists topics whose settings, or whose present state, risk records.
      class TopicsHealth < Topics::Command
        command "topics health", "Lists topics that risk records: too few replicas, min.insync.replicas, no leader",
          usage: "[NAME…] [options]", arguments: (0..)
        details <<~TEXT
          Looks at all topics of the cluster but internal ones, or at those that are named. Red: records can be lost, or nothing can be
          produced. Yellow: less safe than it could be. With --detailed-exitcode the code is 2 if there is a finding.
        TEXT

        private

        def call(words)
          require_relative "../../declaratives/health"
          connected do |admin|
            state = Declaratives::ClusterState.read(admin, words.empty? ? nil : words)
            missing = words - state.topics.keys
            missing.each { |name| warn_user "#{name}: there is no such topic" }
            found = Declaratives::Health.of(state)
            options[:json] ? say_json(found.map(&:to_h)) : print(found, state.topics.size)
            next ExitCodes::FAILED if missing.any?

            (options[:detailed] && found.any?) ? CHANGES : ExitCodes::OK
          end
        end

        def print(found, count)
          return say("#{(count == 1) ? "1 topic" : "#{count} topics"}: nothing to report") if found.empty?

          found.each { |finding| say "#{finding.level.to_s.ljust(6)}  #{finding.name}: #{finding.text}. #{finding.advice}" }
        end
      end
    end
  end
end
