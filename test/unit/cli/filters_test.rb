# frozen_string_literal: true

require "test_helper"
require "penstock/cli/filters"
require "penstock/config/builder"
require "penstock/routing/builder"

class FiltersTest < Penstock::TestCase
  Orders = Class.new { def consume = nil }

  def setup
    settings = Penstock::Config::Builder.new.record { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }.settings
    builder = Penstock::Routing::Builder.new
    builder.draw do
      %w[shop reports].each do |name|
        consumer_group name do
          topic(:orders) { consumer Orders }
          topic((name == "shop") ? :payments : :clicks) do
            consumer Orders
            active name == "reports"
          end
        end
      end
    end
    @routes = builder.routes(settings)
  end

  test "without filters everything is consumed" do
    assert_equal %w[shop:orders shop:payments reports:orders reports:clicks], taken
  end

  test "only included names are consumed" do
    assert_equal %w[shop:orders reports:orders], taken(include_topics: ["orders"])
    assert_equal %w[reports:orders reports:clicks], taken(include_consumer_groups: ["reports"])
  end

  test "excluded names are left out" do
    assert_equal %w[shop:payments reports:clicks], taken(exclude_topics: ["orders"])
  end

  test "inclusion wins over exclusion of the same name" do
    assert_equal %w[shop:orders reports:orders], taken(include_topics: ["orders"], exclude_topics: %w[orders clicks])
  end

  test "a topic must match the filters of all kinds" do
    assert_equal %w[shop:orders], taken(include_consumer_groups: ["shop"], include_topics: ["orders"])
  end

  test "all unknown names are reported together, each with the nearest known one" do
    error = assert_raises(Penstock::ConfigurationError) do
      check(include_topics: ["ordrs"], exclude_consumer_groups: ["rports"])
    end

    assert_equal 2, error.problems.size
    assert_includes error.message, "Did you mean orders?"
    assert_includes error.message, "Did you mean reports?"
  end

  test "filters that leave nothing, or only inactive topics, are refused" do
    [{exclude_consumer_groups: %w[shop reports]}, {include_topics: ["payments"]}].each do |names|
      error = assert_raises(Penstock::ConfigurationError) { check(**names) }

      assert_includes error.message, "No topics to subscribe to"
    end
  end

  private

  def taken(**names)
    filters = Penstock::CLI::Filters.new(**names)
    @routes.all_subscription_groups.flat_map do |group|
      group.topics.select { |topic| filters.take?(topic, group) }.map { |topic| "#{group.consumer_group.id}:#{topic.name}" }
    end
  end

  def check(**names)
    Penstock::CLI::Filters.new(**names).check(@routes)
  end
end
