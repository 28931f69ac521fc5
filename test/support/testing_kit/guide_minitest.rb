# frozen_string_literal: true

# Karafka's testing guide for Minitest, a class for each section, with names changed. Run by test/process/testing_kit_test.rb.

require_relative "guide_application"
require "minitest/autorun"
require "penstock/testing/minitest"

class GuideTest < Minitest::Test
  include Penstock::Testing::Minitest

  def self.test(name, &) = define_method(:"test_#{name}", &)
end

class InstallationTest < GuideTest
  test "offers one object with the helper's methods" do
    %i[consumer_for produce produce_to produced_messages].each { |name| assert_respond_to @penstock, name }
  end
end

class InlineBatchConsumerTest < GuideTest
  def setup
    @consumer = @penstock.consumer_for("inline_batch_data")
  end

  test "expects to log a proper message" do
    @penstock.produce({"number" => 1}.to_json)
    @penstock.produce({"number" => 2}.to_json, partition: 2)
    @consumer.consume

    assert_includes LOG.string, "Sum of 2 elements equals to: 3"
  end

  test "expects to dispatch async message to messages topic with value bigger by 1" do
    @penstock.produce({"number" => 1}.to_json)
    @consumer.consume

    assert_equal({number: 2}.to_json, @penstock.produced_messages.last.payload)
  end
end

class AnalyticsEventsConsumerTest < GuideTest
  def setup
    @consumer = @penstock.consumer_for(:events, consumer_group: :analytics)
  end

  test "processes analytics events" do
    @penstock.produce_to(@consumer, {"event_type" => "page_view"}.to_json)
    before = AnalyticsRecord.count
    @consumer.consume

    assert_equal before + 1, AnalyticsRecord.count
  end
end

class NotificationsEventsConsumerTest < GuideTest
  def setup
    @consumer = @penstock.consumer_for(:events, consumer_group: :notifications)
  end

  test "sends notification for signup events" do
    @penstock.produce_to(@consumer, {"event_type" => "user_signup"}.to_json, key: "message-key", partition: 0,
      headers: {"trace-id" => "123"})
    before = Notification.count
    @consumer.consume

    assert_equal before + 1, Notification.count
    assert_equal({"trace-id" => "123"}, @consumer.messages.first.headers)
  end
end

class UsersBuilderTest < GuideTest
  def setup
    @user_details = {name: "John Doe", email: "john.doe@example.com"}
    @created_user = UsersBuilder.new.create(@user_details)
  end

  test "should produce messages" do
    assert_equal 1, @penstock.produced_messages.size
    assert_equal "users_changes", @penstock.produced_messages.first[:topic]
    assert_equal @created_user.id.to_s, @penstock.produced_messages.first[:key]
  end

  test "transactions" do
    @penstock.produced_messages.clear
    UsersBuilder.new.create_many([{name: "John"}, {name: ""}])
    assert_empty @penstock.produced_messages
    UsersBuilder.new.create_many([{name: "John"}, {name: "Jane"}])

    assert_equal 2, @penstock.produced_messages.size
  end
end

class SpecStyleTest < Minitest::Spec
  include Penstock::Testing::Minitest

  let(:consumer) { penstock.consumer_for(:visits) }

  it "builds the consumer when a message is produced" do
    penstock.produce({page: "/"}.to_json)

    _(consumer.messages.size).must_equal 1
  end
end
