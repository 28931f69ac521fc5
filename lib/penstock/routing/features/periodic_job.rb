# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # When `tick` is called: every `interval` ms in which a partition was idle; `during_pause` also while it is paused,
    # `during_retry` also while it waits for its next attempt; `at_once`: for the first time when a partition was assigned.
    PeriodicJob = Struct.new(:interval, :during_pause, :during_retry, :at_once) do
      include FrozenStruct

      alias_method :at_once?, :at_once

      alias_method :during_pause?, :during_pause
      alias_method :during_retry?, :during_retry
    end

    module Features
      # `periodic true`, `periodic(interval: 1_000)`
      module PeriodicJob
        CHECK = lambda do |topic, job, _settings|
          next [] unless job
          found = []
          if job.during_retry? && !job.during_pause?
            found << ["periodic during_retry: needs during_pause: a partition that waits for its next attempt is paused",
              "Remove during_pause: false"]
          end
          found << [NO_TICK, "Define `tick` in the consumer"] unless ticks?(topic.consumer)
          found
        end
        NO_TICK = "periodic calls tick, which the consumer doesn't have"
        private_constant :NO_TICK

        # @return [Feature] whose value is nil if it is off
        def self.feature
          flag = Config::Types::Flag.new
          Feature.new(:periodic_job, aliases: [:periodic], positional: :active, check: CHECK,
            options: {active: Feature::Option.new(flag, true),
                      interval: Feature::Option.new(Config::Types::Milliseconds.new(min: 10), 5_000),
                      during_pause: Feature::Option.new(flag, true), during_retry: Feature::Option.new(flag, false),
                      at_once: Feature::Option.new(flag, false),
                      materialized: Feature::Option.new(flag, true)},
            description: "Calls the consumer's `tick` every `interval` ms in which its partition was idle, also before its " \
                         "first message; never at the same time as `consume`. `materialized` is accepted, without effect.",
            value: method(:value))
        end

        def self.value(active:, interval:, during_pause:, during_retry:, at_once:, **)
          active ? Routing::PeriodicJob.new(interval, during_pause, during_retry, at_once) : nil
        end

        # The method inherited from the framework does nothing.
        def self.ticks?(consumer)
          return true unless consumer # reported separately
          return false unless consumer.method_defined?(:tick) || consumer.private_method_defined?(:tick)
          consumer.instance_method(:tick).owner.name != "Penstock::BaseConsumer"
        end
      end
    end
  end
end
