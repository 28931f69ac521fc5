# frozen_string_literal: true

require "test_helper"
require "penstock/config/environment"

class EnvironmentTest < Penstock::TestCase
  test "[env precedence] PENSTOCK_ENV beats RACK_ENV beats RAILS_ENV" do
    all = {"PENSTOCK_ENV" => "a", "RACK_ENV" => "b", "RAILS_ENV" => "c"}

    assert_equal "a", detect(all)
    assert_equal "b", detect(all.except("PENSTOCK_ENV"))
    assert_equal "c", detect(all.slice("RAILS_ENV"))
    assert_equal "c", detect("PENSTOCK_ENV" => "", "RAILS_ENV" => "c")
    assert_equal "development", detect({})
  end

  test "only the environment named production is production" do
    assert_predicate Penstock::Config::Environment.new("production"), :production?
    refute_predicate Penstock::Config::Environment.new("production-eu"), :production?
  end

  test "any name can be queried" do
    staging = Penstock::Config::Environment.new("staging")

    assert_equal [true, false], [staging.staging?, staging.review?]
    assert_raises(NoMethodError) { staging.review }
    assert_raises(NoMethodError) { staging.staging?(1) }
  end

  test "it equals its name" do
    assert_equal Penstock::Config::Environment.new("test"), "test"
    assert_equal "in test", "in #{Penstock::Config::Environment.new("test")}"
  end

  private

  def detect(variables) = Penstock::Config::Environment.detect(variables).name
end
