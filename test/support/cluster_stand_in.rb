# frozen_string_literal: true

require "penstock/admin"
require "penstock/cli/target"
require_relative "commands"

module Penstock
  module TestSupport
    # Runs commands that administer a cluster against a stand-in, which answers with what a test gives it and records changes.
    module ClusterStandIn
      include Commands

      # Answers by the name of the call; an exception is raised, a callable called. A call without an answer is a change: it
      # is recorded.
      class Cluster
        attr_reader :changes

        def initialize(answers)
          @answers = answers
          @changes = []
        end

        def respond_to_missing?(_name, _all = false) = true

        def method_missing(name, *arguments, **options)
          return record(name, arguments, options) unless @answers.key?(name)

          answer = @answers[name]
          raise answer if answer.is_a?(Exception)

          answer.respond_to?(:call) ? answer.call(*arguments, **options) : answer
        end

        private

        def record(name, arguments, options)
          @changes << (options.empty? ? [name, *arguments] : [name, *arguments, options])
          arguments.first
        end
      end

      # @return [Commands::Result]
      def run_on(answers, *argv, **input)
        @cluster = Cluster.new(answers)
        replacing(CLI::Target, Commands::Target.new(cluster: @cluster)) { penstock(*argv, **input) }
      end

      # @return [Array<Array>] the changes of the last command
      def changes = @cluster.changes
    end
  end
end
