# frozen_string_literal: true

require_relative "../errors"
require_relative "executors"
require_relative "fibers/pool"
require_relative "processes/pool"

module Penstock
  module Execution
    # Builds the executors that routes request with `run_on`, in addition to that of threads. Used once, at boot. An executor is
    # a folder with a `Pool` that includes {Executor} and has `build(topics, parts)`, and a line in {EXECUTORS}.
    class Placement
      # By their name in `run_on`, in the order in which they are built: processes are forked here, so nothing that a fork would
      # break may be open yet. If the application doesn't run on the main thread, their mold was spawned earlier.
      EXECUTORS = {processes: Processes::Pool, fibers: Fibers::Pool}.freeze

      # The parts an executor is built from. `host` is the {Runtime::ProcessContext}, `runner` returns a unit runner for a
      # middleware, `middleware` wraps user code, `child_setup` is what a forked process inherits from its application, `mold` an
      # existing mold.
      Parts = Struct.new(:host, :runner, :middleware, :child_setup, :mold, keyword_init: true)

      # @param host [#new_queue, #worker_limit, #threads, #monitor, #clock, #settings, #stop_because]
      # @param topics [Array<Routing::Topic>] the consumed topics
      # @param runner [#call] returns a unit runner for a middleware
      # @param middleware [MiddlewareStack] around every call of user code
      # @param child_setup [Hash{Symbol => #call}] what a forked process inherits from its application; `mold` is a spawned one
      def initialize(host, topics, runner, middleware, child_setup)
        @topics = topics.group_by { |topic| topic.features[:run_on]&.kind || :threads }
        @parts = Parts.new(host: host, runner: runner, middleware: middleware,
          child_setup: child_setup.to_h.except(:mold), mold: child_setup.to_h[:mold])
      end

      # @param threads [Threads::Pool]
      # @return [Executors]
      # @raise [ConfigurationError] a topic has two values of `run_on`, or processes can't be forked here
      def build(threads)
        check_one_place_per_topic
        executors = EXECUTORS.filter_map do |kind, pool|
          topics = @topics[kind] or next
          executor = pool.build(topics, @parts)
          topics.to_h { |topic| [topic, executor] }
        end
        Executors.new(threads, executors.reduce({}, :merge))
      end

      private

      # Limits and queues identify a topic by its name alone, across groups.
      def check_one_place_per_topic
        named = @topics.flat_map { |kind, topics| topics.map { |topic| [topic.name, kind] } }.uniq.group_by(&:first)
        problems = named.select { |_name, places| places.size > 1 }.map do |name, places|
          Problem.new("routes: topic #{name}", "runs on #{places.map(&:last).join(" in one group, on ")} in another",
            "Set the same run_on in all groups")
        end
        raise ConfigurationError.new(problems) if problems.any?
      end
    end
  end
end
