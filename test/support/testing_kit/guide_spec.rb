# frozen_string_literal: true

# Karafka's testing guide for RSpec, a group for each section, with names changed. Run by test/process/testing_kit_test.rb.

require_relative "guide_application"
require "penstock/testing/rspec"
require "rspec/mocks"

RSpec.configure do |config|
  config.include Penstock::Testing::RSpec
end

RSpec.describe "Installation" do
  it "offers one object with the helper's methods" do
    expect(penstock).to respond_to(:consumer_for, :produce, :produce_to, :produced_messages, :consumer_messages)
  end
end

RSpec.describe "Testing Messages Consumption (Consumers)" do
  describe InlineBatchConsumer do
    subject(:consumer) { penstock.consumer_for("inline_batch_data") }

    let(:nr1_value) { rand }
    let(:nr2_value) { rand }
    let(:sum) { nr1_value + nr2_value }

    before do
      penstock.produce({"number" => nr1_value}.to_json)
      penstock.produce({"number" => nr2_value}.to_json, partition: 2)
      allow(Penstock.logger).to receive(:info)
    end

    it "expects to log a proper message" do
      expect(Penstock.logger).to receive(:info).with("Sum of 2 elements equals to: #{sum}")
      consumer.consume
    end
  end

  describe InlineBatchConsumer, "that produces" do
    subject(:consumer) { penstock.consumer_for(:inline_batch_data) }

    before { penstock.produce({"number" => 1}.to_json) }

    it "expects to dispatch async message to messages topic with value bigger by 1" do
      consumer.consume

      expect(penstock.produced_messages.last.payload).to eq({number: 2}.to_json)
    end
  end
end

RSpec.describe "Testing Messages Consumption of Routing Patterns" do
  subject(:consumer) { penstock.consumer_for(:visits) }

  it "finds the pattern by its name" do
    penstock.produce({page: "/"}.to_json)

    expect { consumer.consume }.to change { AnalyticsRecord.count }.by(1)
  end
end

RSpec.describe "Testing Multiple Consumer Groups on the Same Topic" do
  describe AnalyticsEventsConsumer do
    subject(:consumer) { penstock.consumer_for(:events, consumer_group: :analytics) }

    before { penstock.produce_to(consumer, {"event_type" => "page_view"}.to_json) }

    it "processes analytics events" do
      expect { consumer.consume }.to change { AnalyticsRecord.count }.by(1)
    end
  end

  describe NotificationsEventsConsumer do
    subject(:consumer) { penstock.consumer_for(:events, consumer_group: :notifications) }

    before { penstock.produce_to(consumer, {"event_type" => "user_signup"}.to_json) }

    it "sends notification for signup events" do
      expect { consumer.consume }.to change { Notification.count }.by(1)
    end

    it "accepts the same parameters for message metadata" do
      penstock.produce_to(consumer, {}.to_json, key: "message-key", partition: 0, headers: {"trace-id" => "123"})

      expect(consumer.messages.last).to have_attributes(key: "message-key", partition: 0, headers: {"trace-id" => "123"})
    end
  end
end

RSpec.shared_examples "an application consumer" do
  it "wraps consumption with the shared error handling" do
    allow(ErrorTracker).to receive(:track)
    penstock.produce({"malformed" => true}.to_json)

    expect { consumer.consume }.not_to raise_error
    expect(ErrorTracker).to have_received(:track)
  end
end

RSpec.describe "Testing Abstract and Base Consumer Classes" do
  describe OrdersConsumer do
    subject(:consumer) { penstock.consumer_for(:orders) }

    it_behaves_like "an application consumer"
  end

  describe SpecApplicationConsumer do
    subject(:consumer) { penstock.consumer_for(:spec_application_consumer) }

    before do
      allow(ErrorTracker).to receive(:track)
      penstock.produce({"malformed" => true}.to_json)
    end

    it "tracks errors coming from the shared logic" do
      consumer.consume

      expect(ErrorTracker).to have_received(:track)
    end
  end
end

RSpec.describe "Testing Messages Production (Producer)" do
  describe UsersBuilder do
    let(:created_user) { described_class.new.create({name: "John"}) }

    before { created_user }

    it { expect(penstock.produced_messages.size).to eq(1) }
    it { expect(penstock.produced_messages.first[:topic]).to eq("users_changes") }
    it { expect(penstock.produced_messages.first[:key]).to eq(created_user.id.to_s) }
  end
end

RSpec.describe "Testing Transactions" do
  describe UsersBuilder do
    let(:created_users) { described_class.new.create_many([{name: "John"}, {name: "Jane"}]) }

    before { created_users }

    it { expect(penstock.produced_messages.size).to eq(2) }
    it { expect(penstock.produced_messages.first[:topic]).to eq("users_changes") }
    it { expect(penstock.produced_messages.first[:key]).to eq(created_users.first.id.to_s) }
  end

  it "keeps nothing of an aborted transaction" do
    UsersBuilder.new.create_many([{name: "John"}, {name: ""}])

    expect(penstock.produced_messages).to be_empty
  end
end

RSpec.describe "Testing Consumer Groups and Topics Structure" do
  describe "batched group" do
    let(:group) { PenstockApp.consumer_groups.find { |cg| cg.name == "batched_group" } }

    describe "xml_data topic" do
      let(:topic) { group.explicit("xml_data") }

      it { expect(topic.deserializers.payload).to eq XmlDeserializer }
    end
  end
end
