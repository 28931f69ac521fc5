# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

# An admin client of a cluster that isn't the application's.
class AdminOpenTest < Penstock::TestCase
  SERVERS = {"bootstrap.servers": "127.0.0.1:1"}.freeze

  test "properties are given with or without braces, options next to them" do
    answers = [Penstock::Admin.open(SERVERS, &:inspect), Penstock::Admin.open(**SERVERS, &:inspect),
      Penstock::Admin.open(SERVERS, timeout_ms: 5, &:inspect), Penstock::Admin.open(**SERVERS, timeout_ms: 5, &:inspect)]

    assert_equal ["#<Penstock::Admin 127.0.0.1:1>"], answers.uniq
  end

  test "without properties the error shows how to give them" do
    error = assert_raises(ArgumentError) { Penstock::Admin.open {} }

    assert_includes error.message, "Penstock::Admin.open(\"bootstrap.servers\""
  end
end
