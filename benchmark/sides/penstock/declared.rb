# frozen_string_literal: true

# An application that declares many topics, for `penstock topics plan`.
require "json"

class BenchApp < Penstock::App
  parameters = JSON.parse(ENV.fetch("BENCH_PARAMETERS"))
  setup { |config| config.kafka = {"bootstrap.servers": parameters.fetch("bootstrap")} }

  routes.draw do
    parameters.fetch("declared").times do |index|
      topic("bench-declared-#{index}") do
        active false
        config(partitions: 1, replication_factor: 1, "retention.ms": 86_400_000)
      end
    end
  end
end
