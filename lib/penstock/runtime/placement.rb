# frozen_string_literal: true

require_relative "../errors"
require_relative "../execution/executors"
require_relative "../execution/fibers/gate"
require_relative "../execution/fibers/pool"
require_relative "../execution/onion"
require_relative "../execution/processes/kit"
require_relative "../execution/processes/pool"

module Penstock
  module Runtime
    # Builds what runs user code elsewhere than on threads, where routes say `run_on`. Used once, at boot. Processes are forked
    # here, so nothing may be open yet that doesn't survive it; but where the application doesn't run on the main thread: then
    # the mold was spawned before.
    class Placement
      # @param host [Host]
      # @param topics [Array<Routing::Topic>] what is consumed
      # @param runner [#call] makes a unit runner of an onion
      # @param layers [Array<#call>] around every call of user code
      # @param home [Hash{Symbol => #call}] what a forked process brings along of its application; `mold` is one that was
      #   spawned
      def initialize(host, topics, runner, layers, home)
        @host = host
        @topics = topics.group_by { |topic| topic.features[:run_on]&.kind || :threads }
        @runner = runner
        @onion = Execution::Onion.new(layers)
        @home = home.to_h.except(:mold)
        @mold = home.to_h[:mold]
      end

      # @param threads [WorkerPool]
      # @return [Execution::Executors]
      # @raise [ConfigurationError]
      def build(threads)
        torn
        executors = {processes: method(:processes), fibers: method(:fibers)}.filter_map do |kind, make|
          topics = @topics[kind] or next
          executor = make.call(topics)
          topics.to_h { |topic| [topic, executor] }
        end
        Execution::Executors.new(threads, executors.reduce({}, :merge))
      end

      private

      # Limits and queues know a topic by its name, in whatever group it is.
      def torn
        named = @topics.flat_map { |kind, topics| topics.map { |topic| [topic.name, kind] } }.uniq.group_by(&:first)
        problems = named.select { |_name, places| places.size > 1 }.map do |name, places|
          Problem.new("routes: topic #{name}", "runs on #{places.map(&:last).join(" in one group, on ")} in another",
            "Say the same run_on in all groups")
        end
        raise ConfigurationError.new(problems) if problems.any?
      end

      def fibers(topics)
        threads = topics.map { |topic| topic.features[:run_on].threads || 1 }.max
        most = topics.sum { |topic| @host.worker_limit(topic.name) }
        Execution::Fibers::Pool.new(queue: queue, runner: @runner.call(Execution::Fibers::Gate.new(@onion)),
          threads: @host.threads, size: threads, most: (most / threads.to_f).ceil, report: method(:report))
      end

      def processes(topics)
        queue = self.queue
        kit = kit(topics)
        Execution::Processes::Pool.new(kit: kit, queue: queue, local: @runner.call(@onion), mold: @mold || forked(kit),
          size: topics.map { |topic| topic.features[:run_on].most }.max, lost: @host.method(:stop_because))
      end

      def forked(kit)
        problems = Execution::Processes::Mold.obstacles
        raise ConfigurationError.new(problems) if problems.any?
        Execution::Processes::MoldHandle.fork(kit)
      end

      def kit(topics)
        Execution::Processes::Kit.new(topics: topics, onion: @onion, monitor: @host.monitor, clock: @host.clock,
          critical: @host.settings.critical_errors, threads: @host.threads, **@home)
      end

      def queue = @host.new_queue

      def report(name, payload)
        @host.monitor.instrument(name, payload) if @host.monitor.subscribed?(name)
      end
    end
  end
end
