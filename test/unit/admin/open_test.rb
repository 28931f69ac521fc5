# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

# An admin of a cluster that isn't the application's.
class AdminOpenTest < Penstock::TestCase
  SERVERS = {"bootstrap.servers": "127.0.0.1:1"}.freeze

  test "properties are given with braces or without, and how it goes about it beside them" do
    answers = [Penstock::Admin.open(SERVERS, &:inspect), Penstock::Admin.open(**SERVERS, &:inspect),
      Penstock::Admin.open(SERVERS, timeout_ms: 5, &:inspect), Penstock::Admin.open(**SERVERS, timeout_ms: 5, &:inspect)]

    assert_equal ["#<Penstock::Admin 127.0.0.1:1>"], answers.uniq
  end

  test "without any it says how they are given" do
    error = assert_raises(ArgumentError) { Penstock::Admin.open {} }

    assert_includes error.message, "Penstock::Admin.open(\"bootstrap.servers\""
  end
end
