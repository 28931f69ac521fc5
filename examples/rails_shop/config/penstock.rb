# frozen_string_literal: true

# The application: its cluster, its topics and its settings. Loaded when Rails has started, in all of its processes;
# `penstock server` runs the consumers.
class PenstockApp < Penstock::App
  setup do |config|
    config.client_id = "rails_shop"
    config.group_id = "rails_shop"
    config.kafka = {
      "bootstrap.servers": ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:9092"),
      # Further properties of librdkafka, as JSON: `bin/shop --check` shortens and lengthens times with them.
      **JSON.parse(ENV.fetch("SHOP_KAFKA", "{}"), symbolize_names: true)
    }
    config.concurrency = 3
  end

  routes.draw do
    # The orders of a customer one after another, those of different customers at the same time.
    topic :orders do
      consumer OrdersConsumer
      parallel by: :key
      dead_letter_queue topic: "orders.dead", max_retries: 3
      config(partitions: 6)
    end

    active_job_topic(:mailers) { config(partitions: 2) }
  end

  # The relay, which sends the rows of the outbox, is a thread of the process that consumes.
  relay = nil
  monitor.subscribe("app.running") { relay = Penstock::Outbox.start }
  monitor.subscribe("app.stopped") { relay&.stop } # until then it also sends the rows of running jobs
end
