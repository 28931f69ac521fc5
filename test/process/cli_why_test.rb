# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock"
require "penstock/native/admin"
require "penstock/native/consumer"
require "penstock/native/envelope"
require "penstock/native/producer"
require_relative "../support/command_line"
require_relative "../support/embedded_broker"
require_relative "../support/real_broker"
require_relative "../support/shared_tests"

# Tests `penstock why` with records of a group that has committed 3, with 4 complete beyond it.
module WhyContract
  include Penstock::TestSupport::CommandLine

  extend Penstock::TestSupport::SharedTests

  def setup
    super
    @topic = new_topic
    @group = "g#{object_id}"
    produce(8)
    commit(3, Penstock::Native::Envelope.encode(base: 3, topic: @topic, completed: [[4, 5]], attempts: {3 => 2}, clean: true))
  end

  def produce(count)
    producer = Penstock::Native::Producer.new({"bootstrap.servers" => bootstrap, "linger.ms" => "0"})
    count.times { |index| producer.produce(@topic, index.to_s, partition: 0, handle: false) }
    producer.flush(20_000) or raise "not delivered"
    producer.close(1_000)
  end

  def commit(offset, metadata)
    consumer = Penstock::Native::Consumer.new({"bootstrap.servers" => bootstrap, "group.id" => @group})
    consumer.commit(1, [[@topic, 0, offset, metadata, -1]])
    wait_until(20, "the commit") do
      consumer.wait(50)
      consumer.poll_event&.first == :commit
    end
  ensure
    consumer&.close(1_000)
  end

  def why(offset, *options)
    penstock("why", @topic, "0", offset.to_s, "--group", @group, "--bootstrap", bootstrap, *options)
  end

  test "penstock why distinguishes complete, complete beyond the offset, failing, untouched and missing records" do
    states = [1, 3, 4, 6, 8].to_h do |offset|
      result = why(offset, "--json")
      assert_equal 0, result.code, result.err
      [offset, JSON.parse(result.out)["state"]]
    end
    assert_equal({1 => "complete", 3 => "incomplete", 4 => "complete_by_map", 6 => "untouched", 8 => "not_there"}, states)
  end

  test "penstock why prints the same as text" do
    out = why(3).out
    assert_match(/offset 3 is not complete, though later records are/, out)
    assert_match(/failed 2 times/, out)
    assert_match(/has committed 3, lag 5\. It is the last commit of a clean stop\./, out)
  end
end

class CommandLineWhyTest < Penstock::TestCase
  include WhyContract

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  def new_topic = "why-#{object_id}".tap { |name| self.class.cluster.create_topic(name, partitions: 1) }

  def bootstrap = self.class.cluster.kafka[:"bootstrap.servers"].to_s

  test "penstock why requires numbers, and a group if there is no application" do
    assert_match(/PARTITION must be a number/, penstock("why", "t", "x", "1", "--bootstrap", "127.0.0.1:1").err)
    assert_match(/name the group with --group/, penstock("why", "t", "0", "1", "--bootstrap", "127.0.0.1:1").err)
  end
end

class CommandLineWhyOnBrokerTest < Penstock::TestCase
  include Penstock::TestSupport::RealBroker

  def bootstrap = bootstrap_servers

  def new_topic
    admin = Penstock::Native::Admin.new({"bootstrap.servers" => bootstrap})
    unique("why").tap { |name| admin.create_topics([[name, 1, 1, {}]], 20_000) }
  ensure
    admin&.close
  end

  include WhyContract

  test "penstock why names the open transaction for which records wait, whether they belong to it or not" do
    producer = Penstock::Producer.new do |config|
      config.kafka = {"bootstrap.servers": bootstrap, "transactional.id": unique("why")}
    end
    producer.transaction do |transaction|
      transaction.produce_sync(topic: @topic, payload: "open", partition: 0)
      produce(1)

      assert_equal %w[untouched waits_for_transaction waits_for_transaction], [7, 8, 9].map { |offset| state(offset) }
      assert_match(/waits for the end of a transaction, which began at offset 8\./, why(9).out)
      raise Penstock::AbortTransaction
    end
    wait_until(20, "the transaction's marker") { state(9) == "untouched" }
    assert_match(/offset 8 is not a record for the group: .* transaction that was aborted/, why(8).out)
  ensure
    producer&.close
  end

  private

  def state(offset) = JSON.parse(why(offset, "--json").out)["state"]
end
