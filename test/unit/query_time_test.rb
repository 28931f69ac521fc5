# frozen_string_literal: true

require "test_helper"
require "penstock/query_time"

module Penstock
  class QueryTimeTest < TestCase
    test "times are rounded up to milliseconds, and those that Kafka can't have become the next one that it can" do
      assert_equal [1_500, 1_501, 0, 0, 0, (2**63) - 1],
        [1.5r, 1.5001r, 0, -0.001r, -0.002r, 10**17].map { |seconds| QueryTime.ms(Time.at(seconds)) }
    end
  end
end
