# frozen_string_literal: true

module Penstock
  module TestSupport
    module Runner
      # The kinds of tests, in the order in which they run: those that are quick and find most come first.
      #
      # `broker`: :needed (skipped without Kafka), :used (runs without it too), :cluster (starts three of its own, skipped where
      # that is not possible), nil.
      Kind = Struct.new(:name, :timeout_seconds, :per_file, :broker, :by_default, keyword_init: true) do
        def files
          Dir["test/#{name}/**/*_test.rb"].sort
        end

        # @param variants [Array<String, nil>] each of them runs all files
        # @return [Array<Part>] the processes that are started
        def parts(chosen = files, variants = [nil])
          return [] if chosen.empty?

          groups = per_file ? chosen.map { |file| [file] } : [chosen]
          variants.flat_map { |variant| groups.map { |files| Part.new(self, files, variant) } }
        end

        # Whether it gets the one broker of the run.
        def shared_broker?
          %i[needed used].include?(broker)
        end

        # How many tests are in files that can't be run here.
        def count(chosen = files)
          chosen.sum { |file| File.foreach(file).count { |line| line.match?(/\A\s*test[ (]["'%]/) } }
        end
      end

      # The part of a kind that one process runs.
      Part = Struct.new(:kind, :files, :variant) do
        def name
          plain = kind.per_file ? files.first.delete_prefix("test/").delete_suffix("_test.rb") : kind.name
          [plain, variant].compact.join("-")
        end

        # Whether it measures something that other tests would disturb.
        def alone?
          ALONE.include?(name)
        end

        # Whether it needs a core for most of its time; most others wait for brokers and clocks.
        def busy?
          BUSY.any? { |pattern| File.fnmatch?(pattern, name) }
        end

        # Its position among those that run at the same time: what takes longest begins first, so that no core waits for
        # it at the end.
        def rank
          [LONGEST.index(name) || LONGEST.size, KINDS.index(kind)]
        end
      end

      # Gaps of partitions, in milliseconds; how long threads wait for Ruby's lock.
      ALONE = %w[broker/rebalance contract/execution/lock_advice].freeze
      BUSY = %w[unit sim docs rails/* process/gems process/puma* native/core_c* native/producer/* broker/long_job].freeze
      LONGEST = %w[
        cluster sim unit docs contract/assignment/real_broker contract/rebalance/embedded broker/restarts broker/security
        process/swarm process/gems native/lifecycle native/admin_lifecycle process/demo broker/broker_down
        contract/rebalance/real_broker contract/assignment/embedded broker/long_job broker/doctor broker/faults process/cli
      ].freeze

      KINDS = [
        Kind.new(name: "unit", timeout_seconds: 300, by_default: true),
        Kind.new(name: "formats", timeout_seconds: 60, by_default: true),
        Kind.new(name: "native", timeout_seconds: 360, per_file: true, broker: :used, by_default: true),
        Kind.new(name: "contract", timeout_seconds: 360, per_file: true, broker: :used, by_default: true),
        Kind.new(name: "sim", timeout_seconds: 600, by_default: true),
        Kind.new(name: "process", timeout_seconds: 360, per_file: true, broker: :used, by_default: true),
        Kind.new(name: "rails", timeout_seconds: 300, per_file: true, by_default: true),
        Kind.new(name: "docs", timeout_seconds: 300, by_default: true),
        Kind.new(name: "broker", timeout_seconds: 360, per_file: true, broker: :needed, by_default: true),
        Kind.new(name: "cluster", timeout_seconds: 1_200, broker: :cluster, by_default: true),
        Kind.new(name: "browser", timeout_seconds: 240, per_file: true),
        Kind.new(name: "ledger", timeout_seconds: 1_800, per_file: true, broker: :needed)
      ].freeze
    end
  end
end
