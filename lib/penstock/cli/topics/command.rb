# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Topics
      # Base class of the commands about declared topics: shows what would change, and changes it.
      class Command < CLI::Command
        # With `--detailed-exitcode`: there are changes.
        CHANGES = 2

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:detailed, "--detailed-exitcode", "exit with 2 if there are changes, 0 if there are none, 1 after an error")
          parser.flag(:json, "--json", "as JSON")
        end

        def define_changing(parser)
          parser.flag(:yes, "--yes", "don't ask about changes with consequences")
        end

        # @yieldparam admin [Admin]
        # @return [Object] what the block returns
        def connected(&block)
          load_libraries
          target.admin(&block)
        end

        def load_libraries
          require_relative "../../declaratives/applier"
          require_relative "../../declaratives/cluster_state"
          require_relative "../../declaratives/plan_file"
        end

        def target = @target ||= Target.new(context, options)

        # @return [Array<Declaratives::Topic>]
        def declared
          application = target.application or
            fail_usage "topics are declared in an application, and #{target.without_application_because}"
          declaratives = application.validate!.declaratives
          foreign = declaratives.foreign
          warn_user "left out, as their routes name another cluster: #{foreign.join(", ")}" if foreign.any?
          declaratives.topics
        end

        # @return [(Declaratives::Plan, Declaratives::ClusterState)]
        def planned(admin, topics)
          state = Declaratives::ClusterState.read(admin, topics.map(&:name))
          [Declaratives::Plan.of(topics, state), state]
        end

        # Makes the changes of these kinds, or all, for the declared topics.
        # @param kinds [Array<Symbol>] as for {Declaratives::Plan#only}
        # @return [Integer] exit code
        def change_declared(*kinds)
          topics = declared
          return none_declared(failed: []) if topics.empty?

          connected do |admin|
            plan = planned(admin, topics).first
            carry_out(admin, kinds.empty? ? plan : plan.only(*kinds))
          end
        end

        # @param more [Hash{Symbol => Array}] what the command's JSON has in addition to that of a plan
        # @return [Integer] exit code
        def none_declared(**more)
          options[:json] ? say_json({changes: [], notes: [], **more}) : say("no topics are declared")
          ExitCodes::OK
        end

        def show(plan, nothing: "the cluster has all topics as declared")
          plan.steps.each do |step|
            say step.to_s
            step.warnings.each { |text| say "  careful: #{text}" }
          end
          say nothing unless plan.changes?
          say "", "not changed:", *plan.notes.map { |note| "  #{note}" } if plan.notes.any?
        end

        def json_of(plan)
          {changes: plan.steps.map { |step| Declaratives::Steps.dump(step) },
           notes: plan.notes.map { |note| {topic: note.name, text: note.text} }}
        end

        # Shows the plan, asks about consequences, carries it out.
        # @return [Integer] exit code
        def carry_out(admin, plan)
          show(plan) unless options[:json]
          return finish(plan, []) unless plan.changes?
          return refuse_unconfirmed unless agreed?(plan)

          say "" unless options[:json]
          finish(plan, Declaratives::Applier.new(admin).call(plan) { |outcome| report(outcome) unless options[:json] })
        end

        def agreed?(plan)
          options[:yes] || plan.warnings.empty? || (context.stdin.tty? && confirmed?("Make these changes?"))
        end

        def refuse_unconfirmed
          warn_user "nothing was changed: changes marked with \"careful\" need --yes, or your confirmation in a terminal"
          ExitCodes::FAILED
        end

        def report(outcome)
          return say("done: #{outcome.step}") unless outcome.error

          warn_user "failed: #{outcome.step}: #{Printable.error(outcome.error, 300)}"
        end

        def finish(plan, outcomes)
          failed = outcomes.select(&:error)
          say_json(json_of(plan).merge(failed: failed.map { |one| {topic: one.step.name, error: one.error.message} })) if
            options[:json]
          warn_user "#{failed.size} of #{outcomes.size} changes failed; run the command again for what is left" if
            failed.any? && !options[:json]
          failed.any? ? ExitCodes::FAILED : exit_code(plan)
        end

        def exit_code(plan) = (options[:detailed] && plan.changes?) ? CHANGES : ExitCodes::OK
      end
    end
  end
end
