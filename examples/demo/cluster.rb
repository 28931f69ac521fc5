# frozen_string_literal: true

# Only where the cluster is and how to log in: for `penstock topics`, which the demo makes its topic with.
require "json"
require "penstock"

class DemoCluster < Penstock::App
  setup do |config|
    config.client_id = "demo"
    config.kafka = JSON.parse(ENV.fetch("DEMO_KAFKA"), symbolize_names: true)
  end
end
