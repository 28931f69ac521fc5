# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "support/fake_reading"

module Penstock
  # Records of one partition, as Admin reads them.
  class AdminTopicReaderTest < TestCase
    LOG = TestSupport::FakeReading::Log.new([2, 3, 5, 8, 9], 2, 12, {2 => 1_000, 8 => 2_000})

    def read(*arguments, settings: {})
      @fake = TestSupport::FakeReading.new({["t", 0] => LOG})
      open = lambda do |properties, **options, &block|
        @properties, @options = properties, options
        block.call(@fake)
      end
      records = Admin::TopicReader.new({"bootstrap.servers": "a:1"}, timeout_ms: 7, token_provider: :provider)
      count, start, partition, topic = *arguments
      Reading::Connection.stub(:open, open) {
        records.read(topic || "t", partition || 0, count, start || -1, settings)
      }.map(&:offset)
    end

    test "[read_topic] the last records, those from an offset or a time on; gaps don't count" do
      assert_equal [[5, 8, 9], [2, 3, 5, 8, 9], [5, 8], [8, 9], [2]],
        [read(3), read(99), read(2, 4), read(5, Time.at(2)), read(1, 0)]
    end

    test "[read_topic] after the end there is nothing" do
      assert_equal [[], [], []], [read(3, 12), read(3, 500), read(3, Time.at(3))]
    end

    test "settings of the call are added, and options passed on" do
      read(1, settings: {"isolation.level": "read_uncommitted"})

      assert_equal %w[a:1 read_uncommitted], @properties.values_at("bootstrap.servers", "isolation.level")
      assert_equal({timeout_ms: 7, token_provider: :provider}, @options)
    end

    test "a count or a beginning that can't be used is refused, and names what is allowed" do
      [0, -1, "5", nil].each { |count|
        assert_match(/count must be an Integer of at least 1/, assert_raises(ArgumentError) {
          read(count)
        }.message)
      }
      [-2, "x", 1.5].each do |start|
        assert_match(/an offset, a Time, or -1 for the last 5/, assert_raises(ArgumentError) { read(5, start) }.message)
      end
    end

    test "a partition that doesn't exist is named" do
      error = assert_raises(KafkaError) { read(5, 0, 3) }

      assert_equal [:unknown_partition, true], [error.code, error.message.start_with?("t/3: t has 1 partitions")]
    end

    test "the application's deserializers are used, by topic" do
      twice = Serialization::Deserializers.new(payload: ->(message) { message.raw_payload * 2 })
      records = Admin::TopicReader.new({}, timeout_ms: 7)
      payloads = ->(topic) do
        fake = TestSupport::FakeReading.new({[topic, 0] => [1]})
        Reading::Connection.stub(:open, ->(*, **, &block) { block.call(fake) }) { records.read(topic, 0, 1, -1, {}).map(&:payload) }
      end
      Admin.stub(:deserializers, -> { ->(topic) { twice if topic == "t" } }) do
        assert_equal [["11"], [1]], [payloads.call("t"), payloads.call("other")]
      end
    end
  end
end
