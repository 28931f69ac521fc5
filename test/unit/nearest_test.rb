# frozen_string_literal: true

require "test_helper"
require "penstock/nearest"

class NearestTest < Penstock::TestCase
  NAMES = %w[max_messages max_wait_time bootstrap.servers concurrency].freeze

  test "a misspelt name finds the intended one" do
    assert_equal "concurrency", Penstock::Nearest.to("concurency", NAMES)
    assert_equal "bootstrap.servers", Penstock::Nearest.to(:"bootstrap.server", NAMES)
  end

  test "the same letters written another way are the same name" do
    assert_equal "max_messages", Penstock::Nearest.to("maxMessages", NAMES)
    assert_equal "bootstrap.servers", Penstock::Nearest.to("bootstrap_servers", NAMES)
  end

  test "a distant name finds nothing" do
    assert_nil Penstock::Nearest.to("weather", NAMES)
    assert_nil Penstock::Nearest.hint("weather", NAMES)
  end
end
