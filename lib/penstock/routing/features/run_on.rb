# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # Where a topic's user code runs. `kind` is :threads, :fibers or :processes; `max` is the maximum number of the
    # topic's units that run at once in fibers, or the number of processes; `threads` is the number of threads that
    # fibers share.
    RunOn = Struct.new(:kind, :max, :threads) do
      include FrozenStruct

      def threads? = kind == :threads
      def fibers? = kind == :fibers
      def processes? = kind == :processes

      # @return [Integer] units at once, or processes; a fiber costs some 20 KiB, so more of them only if the route sets
      #   it
      def most
        return max if max
        return 1_000 if fibers?
        require "etc"
        Etc.nprocessors
      end
    end

    module Features
      # `run_on :fibers`, `run_on :processes, max: 4`
      module RunOn
        COUNT = Config::Types::Whole.new(min: 1)
        OPTIONS = {
          kind: Feature::Option.new(Config::Types::Word.new("threads", "fibers", "processes"), Feature::REQUIRED),
          max: Feature::Option.new(Config::Types::Either.new(COUNT, nil_allowed: true), nil),
          threads: Feature::Option.new(Config::Types::Either.new(COUNT, nil_allowed: true), nil)
        }.freeze
        # Features that a process of the pool can't offer: it is created for units and knows no partition.
        HOOKS = {revoked: "is called when a partition is revoked", shutdown: "is called when the process stops",
                 tick: "is called when no records arrive"}.freeze
        ELSEWHERE = "A process of the pool creates a consumer for each unit and knows no partition: remove it, or run it on " \
          ":threads"
        private_constant :COUNT, :OPTIONS, :HOOKS, :ELSEWHERE

        CHECK = lambda do |topic, run_on, settings|
          case run_on.kind
          when :threads then for_threads(run_on)
          when :fibers then for_fibers
          when :processes then for_processes(topic, run_on, settings)
          end
        end

        class << self
          # @return [Feature]
          def feature
            Feature.new(:run_on, positional: :kind, options: OPTIONS, check: CHECK, value: method(:value),
              absent: Routing::RunOn.new(:threads, nil, nil),
              description: "Where `consume` runs: on `:threads`; in `:fibers` (for code that waits, needs the gem async; " \
                           "`max` at once, on `threads`), or in `:processes` of its own (for code that computes; `max` of " \
                           "them, by default one per core).")
          end

          # @api private
          def value(kind:, max:, threads:) = Routing::RunOn.new(kind.to_sym, max, threads)

          # @api private
          def for_threads(run_on)
            return [] unless run_on.max || run_on.threads
            [["run_on :threads takes no options", "`workers max: n` limits a topic's threads, `config.concurrency` those of " \
              "all topics"]]
          end

          # @api private
          def for_fibers
            require "async"
            []
          rescue LoadError
            [["run_on :fibers needs the gem async, which can't be loaded", "Add `gem \"async\"` to the Gemfile"]]
          end

          # @api private
          def for_processes(topic, run_on, settings)
            found = features(topic) + hooks(topic)
            found << ["run_on :processes has no threads:", "Set the number of processes with max:"] if run_on.threads
            unless ::Process.respond_to?(:fork)
              found << ["run_on :processes needs fork, which this Ruby doesn't have", "Run it on :threads"]
            end
            found + transactions(settings)
          end

          private

          def features(topic)
            refused = []
            refused << "periodic" if topic.features[:periodic_job]
            refused << "inline_insights" if topic.features[:inline_insights]
            refused << "distribution: :consistent" if topic.features[:parallel]&.consistent?
            refused.map { |name| ["run_on :processes can't be combined with #{name}", ELSEWHERE] }
          end

          def hooks(topic)
            HOOKS.filter_map do |name, moment|
              next unless own?(topic.consumer, name)
              ["run_on :processes can't call #{topic.consumer}##{name}, which #{moment}", ELSEWHERE]
            end
          end

          # The method inherited from the framework does nothing.
          def own?(consumer, name)
            return false unless consumer
            return false unless consumer.method_defined?(name) || consumer.private_method_defined?(name)
            consumer.instance_method(name).owner.name != "Penstock::BaseConsumer"
          end

          # Each process has a producer of its own.
          def transactions(settings)
            return [] unless settings.kafka.key?(:"transactional.id")
            [["run_on :processes can't be combined with a transactional producer: each process has a producer of its own, and " \
              "all would have the same transactional.id", "Remove transactional.id, or run it on :threads"]]
          end
        end
      end
    end
  end
end
