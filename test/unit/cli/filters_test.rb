# frozen_string_literal: true

require "test_helper"
require "penstock/cli/filters"

class FiltersTest < Penstock::TestCase
  Topic = Struct.new(:name, :active, keyword_init: true) do
    def active? = active
  end
  Group = Struct.new(:id, :name, :subscription_groups)
  Subscription = Struct.new(:id, :name, :consumer_group, :topics)
  Routes = Struct.new(:consumer_groups) do
    def subscription_groups = consumer_groups.flat_map(&:subscription_groups)
    def topics = subscription_groups.flat_map(&:topics)
  end

  def setup
    @routes = Routes.new([group("shop", %w[orders payments]), group("reports", %w[orders clicks])])
  end

  test "without filters everything is taken" do
    assert_equal %w[shop:orders shop:payments reports:orders reports:clicks], taken
    assert_predicate Penstock::CLI::Filters.new, :empty?
  end

  test "included names alone are taken" do
    assert_equal %w[shop:orders reports:orders], taken(include_topics: ["orders"])
    assert_equal %w[reports:orders reports:clicks], taken(include_consumer_groups: ["reports"])
  end

  test "excluded names are left out" do
    assert_equal %w[shop:payments reports:clicks], taken(exclude_topics: ["orders"])
    assert_equal %w[shop:orders shop:payments], taken(exclude_subscription_groups: ["reports_0"])
  end

  test "inclusion wins over exclusion of the same name" do
    assert_equal %w[shop:orders reports:orders], taken(include_topics: ["orders"], exclude_topics: %w[orders clicks])
  end

  test "the kinds are joined by and" do
    assert_equal %w[shop:orders], taken(include_consumer_groups: ["shop"], include_topics: ["orders"])
  end

  test "every unknown name is told at once, with the nearest known one" do
    error = assert_raises(Penstock::ConfigurationError) do
      check(include_topics: ["ordrs"], exclude_consumer_groups: ["rports"])
    end

    assert_equal 2, error.problems.size
    assert_includes error.message, "--include-topics: there is no ordrs in the routes. Did you mean orders?"
    assert_includes error.message, "--exclude-consumer-groups: there is no rports in the routes. Did you mean reports?"
  end

  test "filters that leave nothing are refused" do
    error = assert_raises(Penstock::ConfigurationError) { check(exclude_consumer_groups: %w[shop reports]) }

    assert_includes error.message, "No topics to subscribe to"
  end

  test "topics that aren't active don't count as something to consume" do
    error = assert_raises(Penstock::ConfigurationError) { check(include_topics: ["payments"]) }

    assert_includes error.message, "No topics to subscribe to"
  end

  private

  def group(name, topics)
    Group.new(name, name, []).tap do |group|
      routed = topics.map { |topic| Topic.new(name: topic, active: topic != "payments") }
      group.subscription_groups << Subscription.new("#{name}_0", "#{name}_0", group, routed)
    end
  end

  def taken(**names)
    filters = Penstock::CLI::Filters.new(**names)
    @routes.subscription_groups.flat_map do |group|
      group.topics.select { |topic| filters.take?(topic, group) }.map { |topic| "#{group.consumer_group.name}:#{topic.name}" }
    end
  end

  def check(**names)
    Penstock::CLI::Filters.new(**names).check(@routes)
  end
end
