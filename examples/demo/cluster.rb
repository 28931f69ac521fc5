# frozen_string_literal: true

# Only the cluster's address and login: for `penstock topics`, with which the demo creates its topic.
require "json"
require "penstock"

class DemoCluster < Penstock::App
  setup do |config|
    config.client_id = "demo"
    config.kafka = JSON.parse(ENV.fetch("DEMO_KAFKA"), symbolize_names: true)
  end
end
