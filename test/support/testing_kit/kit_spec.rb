# frozen_string_literal: true

# The kit in RSpec. Run by test/process/testing_kit_test.rb, which also reads the failures of the group "failing".

require_relative "application"
require "penstock/testing/rspec"

RSpec.configure { |config| config.include Penstock::Testing::RSpec }

RSpec.describe OrdersConsumer do
  subject(:consumer) { penstock.consumer_for(:orders) }

  before(:context) { Penstock.producer.produce_sync(topic: "outside", payload: "of examples") }

  def order(**values) = penstock.produce(values.to_json, key: "42")

  it "makes invoices of orders" do
    order(total: 12)
    consumer.consume

    expect(penstock).to have_produced("invoices", key: "42", payload: {"total" => 12})
    expect(penstock).to have_produced("invoices", payload: a_hash_including("total" => an_instance_of(Integer)), count: 1)
    expect(penstock).not_to have_produced("orders.dead")
    expect(consumer).to have_marked(0)
    expect(consumer).not_to have_marked(1)
  end

  it "composes" do
    order(total: 12)

    expect { consumer.consume }.to have_produced("invoices").and have_produced(key: a_string_starting_with("4"))
    expect([penstock]).to contain_exactly(have_produced("invoices").or(have_produced("other")))
    expect(consumer).to have_marked(be_between(0, 2)).and have_marked
  end

  it "sees pauses, seeks and dead letters" do
    order(later: true)
    order(skip: true)
    order
    consumer.consume

    expect(consumer).to have_paused(0, timeout: 60_000).and have_sought(:latest)
    expect(consumer).to have_dead_lettered(2, topic: "orders.dead", reason: /no total/)
    expect { consumer.consume }.not_to have_produced("invoices")
  end

  it "begins empty" do
    expect(penstock.produced_messages).to be_empty
  end

  describe "in a nested group that includes the module again" do
    include Penstock::Testing::RSpec

    before { order(total: 1) }

    after { expect(penstock).to be_open }

    it("has one kit") { expect(penstock.produced_messages.size).to eq(1) }
  end
end

RSpec.describe OrdersConsumer, "as a subject without a name" do
  subject { penstock.consumer_for(:orders) }

  before { penstock.produce({total: 1}.to_json) }

  it("gets the message") { expect(subject.messages.size).to eq(1) }
end

RSpec.describe String, "which is no consumer" do
  it "isn't created as a subject" do
    expect { penstock.produce("1") }.to raise_error(Penstock::Testing::AmbiguousMessageError, /no consumer was built/)
  end
end

RSpec.describe "another application" do
  let(:penstock_application) do
    Penstock::Application.new("other") { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
  end
  let(:penstock_producers) { [audit] }
  let(:audit) { Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} } }

  it "is tested with its own producer, and others that are named" do
    penstock_application.producer.produce_sync(topic: "a", payload: "1")
    audit.produce_sync(topic: "b", payload: "2")

    expect(penstock.produced_messages.map(&:topic)).to eq(%w[a b])
    expect(penstock.application).to be(penstock_application)
  end
end

RSpec.describe OrdersConsumer, "failing", if: ENV["FAILING"] do
  let(:consumer) { penstock.consumer_for(:orders) }

  before do
    penstock.produce({total: 12}.to_json, key: "42")
    consumer.consume
  end

  it("produced") { expect(penstock).to have_produced("invoices", key: "43") }
  it("not produced") { expect(penstock).not_to have_produced("invoices") }
  it("composed") { expect(consumer).to have_marked(0).and have_paused }
  it("dead-lettered") { expect(consumer).to have_dead_lettered(0) }
end
