# frozen_string_literal: true

require_relative "../topics/command"

module Penstock
  module CLI
    module Commands
      # Shows what has to change on the cluster for the declared topics. Changes nothing.
      class TopicsPlan < Topics::Command
        command "topics plan", "Shows what has to change on the cluster for the declared topics"
        details <<~TEXT
          Topics are declared with `declaratives.draw { topic(:orders) { partitions 6 } }`, or with `config(partitions: 6)` in a
          route. The plan creates topics, adds partitions and sets properties; it never deletes anything.

            penstock topics plan --detailed-exitcode       # in CI: 2 when the cluster differs
            penstock topics plan --out plan.json           # to be reviewed, then: penstock topics apply plan.json
        TEXT

        private

        def define(parser)
          super
          parser.value(:out, "--out FILE", "write the plan to a file, for `penstock topics apply FILE`")
        end

        def call(_words)
          topics = declared
          return none_declared if topics.empty?

          connected do |admin|
            plan, state = planned(admin, topics)
            options[:json] ? say_json(json_of(plan)) : show(plan)
            write(Declaratives::PlanFile.of(plan, topics, state)) if options[:out]
            exit_code(plan)
          end
        end

        def write(file)
          File.write(options[:out], "#{file.to_json}\n")
          warn_user "the plan is in #{options[:out]}"
        rescue SystemCallError => error
          fail_usage "#{options[:out]} can't be written: #{error.message}"
        end
      end
    end
  end
end
