# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/native/consumer"
require_relative "../support/command_line"
require "support/embedded_broker"

class CommandLineSegmentsTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  def self.topics = {"orders" => 2, "clicks" => 1}

  def setup
    super
    @groups = %w[a b].map { |name| "#{name}#{object_id}" }
    write("penstock.rb", <<~RUBY)
      require "penstock"
      class Seen < Penstock::BaseConsumer
        def consume = nil
      end
      class PenstockApp < Penstock::App
        setup { |config| config.kafka = #{self.class.cluster.kafka.inspect} }
        routes.draw do
          #{@groups.inspect}.each do |name|
            consumer_group name do
              parallel_segments(count: 2, partitioner: ->(message) { message.key })
              topic(:orders) { consumer Seen }
            end
          end
          topic(:clicks) { consumer Seen }
        end
      end
    RUBY
  end

  # @param offsets [Hash{Integer => Integer}] of the topic "orders"
  def commit(group, offsets)
    consumer = Penstock::Native::Consumer.new({"bootstrap.servers" => self.class.cluster.kafka[:"bootstrap.servers"],
      "group.id" => group})
    consumer.commit(1, offsets.map { |partition, offset| ["orders", partition, offset] })
    wait_until(10, "the commit") do
      consumer.wait(50)
      consumer.poll_event&.first == :commit
    end
  ensure
    consumer&.close(1_000)
  end

  def segments(*words) = penstock("parallel_segments", *words)

  def facts = JSON.parse(segments("plan", "--json").out)

  def standing(group)
    row = facts.find { |entry| entry["group"] == group }
    row["partitions"].to_h { |one| [one["partition"], [one["origin"], *one["segments"]]] }
  end

  test "[segments CLI] distribute copies the group's offsets, refuses existing ones, and --force passes" do
    one, other = @groups
    commit(one, {0 => 5, 1 => 7})
    commit(other, {0 => 3})
    first = segments("distribute")
    assert_equal 0, first.code, first.err
    assert_equal({0 => [5, 5, 5], 1 => [7, 7, 7]}, standing(one))
    assert_equal({0 => [3, 3, 3]}, standing(other))

    commit(one, {0 => 6})
    again = segments("distribute", one)
    assert_equal 1, again.code
    assert_match(/#{one}-parallel-0, #{one}-parallel-1 have offsets that would be lost\nNothing was changed. --force/, again.err)
    assert_equal [6, 5, 5], standing(one)[0]

    assert_equal 0, segments("distribute", one, "--force").code
    assert_equal [6, 6, 6], standing(one)[0]
  end

  test "collapse writes the lowest offset, and refuses where segments differ; it handles every named group" do
    @groups.each { |group| 2.times { |segment| commit("#{group}-parallel-#{segment}", {0 => 5, 1 => 9 - segment}) } }
    refused = segments("collapse", "--groups", @groups.join(","))
    assert_equal 1, refused.code
    @groups.each { |group| assert_match(%r{the segments of #{group} have different offsets in orders/1}, refused.err) }
    assert_nil standing(@groups.first)[0].first

    assert_equal 0, segments("collapse", "--force", *@groups).code
    @groups.each { |group| assert_equal({0 => [5, 5, 5], 1 => [8, 9, 8]}, standing(group)) }
    assert_equal 0, segments("reset", "--force", @groups.last).code
    assert_equal({0 => [5, 5, 5], 1 => [8, 8, 8]}, standing(@groups.last))
  end

  test "routes shows the segments, connections and assigned partitions" do
    write("penstock.rb", <<~RUBY)
      require "penstock"
      class Seen < Penstock::BaseConsumer
        def consume = nil
      end
      class PenstockApp < Penstock::App
        setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
        routes.draw do
          subscription_group(:many) { [multiplexing(min: 1, max: 3), topic(:clicks) { consumer Seen }] }
          consumer_group(:cache) { topic(:prices) { [consumer(Seen), assign(0..1)] } }
          consumer_group(:split) do
            parallel_segments(count: 2, partitioner: ->(message) { message.key })
            topic(:orders) { consumer Seen }
          end
        end
      end
    RUBY
    shown = penstock("routes").out

    ["app_many_0 (1 to 3 connections)", "prices → Seen (assigned: 0, 1)", "split-parallel-1"].each do |part|
      assert_includes shown, part
    end
  end

  test "plan shows the offsets of all segments; for a group that isn't split it lists those that are" do
    commit(@groups.first, {0 => 5})
    shown = segments("plan", @groups.first).out
    assert_match(/orders +0 +5 +- +-/, shown)
    assert_match(/distribute: possible/, shown)
    wrong = segments("plan", "app")
    assert_equal 1, wrong.code
    assert_match(/app: not split by parallel_segments; #{@groups.join(", ")} are/, wrong.err)
  end
end
