# frozen_string_literal: true

module Penstock
  module TestSupport
    module Runner
      # The kinds of tests, in the order they run: the quick and telling ones first.
      #
      # `beside`: three processes of these run at once. They wait more than they work, or don't look at the clock.
      Kind = Struct.new(:name, :timeout_seconds, :per_file, :broker, :by_default, :beside, keyword_init: true) do
        def files
          Dir["test/#{name}/**/*_test.rb"].sort
        end

        # @return [Array<Array<String>>] the files of each process that is started
        def runs(chosen = files)
          return [] if chosen.empty?

          per_file ? chosen.map { |file| [file] } : [chosen]
        end

        # How many tests lie in files that can't be run here.
        def count(chosen = files)
          chosen.sum { |file| File.foreach(file).count { |line| line.match?(/\A\s*test[ (]["'%]/) } }
        end
      end

      # `broker`: :needed (skipped without Kafka), :used (runs without it too), nil.
      KINDS = [
        Kind.new(name: "unit", timeout_seconds: 90, by_default: true),
        Kind.new(name: "formats", timeout_seconds: 60, by_default: true),
        Kind.new(name: "native", timeout_seconds: 240, broker: :used, by_default: true),
        Kind.new(name: "contract", timeout_seconds: 240, per_file: true, broker: :used, by_default: true, beside: true),
        Kind.new(name: "sim", timeout_seconds: 180, by_default: true, beside: true),
        Kind.new(name: "process", timeout_seconds: 360, broker: :used, by_default: true, beside: true),
        Kind.new(name: "docs", timeout_seconds: 300, by_default: true, beside: true),
        Kind.new(name: "broker", timeout_seconds: 240, per_file: true, broker: :needed, by_default: true),
        Kind.new(name: "browser", timeout_seconds: 240, per_file: true),
        Kind.new(name: "ledger", timeout_seconds: 1_800, per_file: true, broker: :needed)
      ].freeze
    end
  end
end
