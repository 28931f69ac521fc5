# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # Where a topic's user code runs. `kind` is :threads, :fibers or :processes; `max` is how many units of the topic may run at
    # once in fibers, or how many processes there are; `threads` is how many threads fibers share.
    RunOn = Struct.new(:kind, :max, :threads) do
      include FrozenStruct

      def threads? = kind == :threads
      def fibers? = kind == :fibers
      def processes? = kind == :processes

      # @return [Integer] units at once, processes; a fiber costs some 20 KiB: more of them only where somebody says so
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
        # What a process that is made for units and knows no partition can't be asked.
        HOOKS = {revoked: "is called when a partition goes", shutdown: "is called when the process stops",
                 tick: "is called where nothing came"}.freeze
        ELSEWHERE = "A process of the pool makes a consumer for each unit and knows no partition: leave it out, or run it on " \
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
                           "them, one a core where it isn't said).")
          end

          # @api private
          def value(kind:, max:, threads:) = Routing::RunOn.new(kind.to_sym, max, threads)

          # @api private
          def for_threads(run_on)
            return [] unless run_on.max || run_on.threads
            [["run_on :threads takes no options", "`workers max: n` bounds a topic's threads, `config.concurrency` those of all"]]
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
            found << ["run_on :processes has no threads:", "Say how many processes with max:"] if run_on.threads
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

          # What it inherits from the framework does nothing.
          def own?(consumer, name)
            return false unless consumer
            return false unless consumer.method_defined?(name) || consumer.private_method_defined?(name)
            consumer.instance_method(name).owner.name != "Penstock::BaseConsumer"
          end

          # Each process has a producer of its own.
          def transactions(settings)
            return [] unless settings.kafka.key?(:"transactional.id")
            [["run_on :processes can't be combined with a transactional producer: each process has a producer of its own, and " \
              "all would have the same transactional.id", "Leave transactional.id out, or run it on :threads"]]
          end
        end
      end
    end
  end
end
