# frozen_string_literal: true

# Whole applications in RSpec. Run by test/process/testing_kit_whole_test.rb; with FAILING also an example that fails.

require "logger"
require "penstock"
require "penstock/testing/rspec"

class OrdersConsumer < Penstock::BaseConsumer
  def consume = each { |message| raise "no such customer" if message.raw_payload == "bad" }
end

class WholeApp < Penstock::App
  setup do |config|
    config.client_id = config.group_id = "whole"
    config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    config.logger = Logger.new(File::NULL)
  end
  routes.draw do
    topic(:orders) do
      consumer OrdersConsumer
      max_messages 1
      dead_letter_queue topic: "orders.dead", max_retries: 2
    end
  end
end

RSpec.configure { |config| config.include Penstock::Testing::RSpec }

RSpec.describe OrdersConsumer do
  before { %w[good bad].each { |payload| penstock.produce(payload, topic: :orders) } }

  let(:run) { penstock.consume_all }

  it "consumes, retries and dead-letters" do
    expect(run).to have_dead_lettered(:orders, offset: 1).after(3).attempts
    expect(run).to have_dead_lettered
    expect(run).to have_dead_lettered(offset: 1).and have_dead_lettered(/ord/, to: "orders.dead")
    expect(run).not_to have_dead_lettered(offset: 0)
    expect(run).to have_consumed(:orders, offset: 0).after(1).attempts.and have_retried("orders", offset: 1)
    expect(run).to have_committed(:orders, offset: 2)
    expect(run).not_to have_redelivered
    expect(run).not_to have_waiting
    expect(penstock).to have_produced("orders.dead", payload: "bad")
  end

  it("fails") { expect(run).to have_dead_lettered(:orders, offset: 0).after(3).attempts } if ENV["FAILING"]
end
