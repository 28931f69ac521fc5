# frozen_string_literal: true

require "test_helper"
require "support/cluster/leaders"

module Penstock
  # Which partition of an internal topic a group belongs to; the figures were computed by Kafka itself.
  class ClusterLeadersTest < TestCase
    test "a group belongs to the partition that Kafka computes from the absolute value of the name's hash" do
      places = {"group-761309731128" => 2, "group-865892457670" => 1, "group-178479968741" => 5}
      places.each { |name, place| assert_equal place, TestSupport::ClusterLeaders.place_of(name, 6), name }
    end

    test "a name whose hash has no absolute value belongs to partition 0" do
      assert_equal 0, TestSupport::ClusterLeaders.place_of("polygenelubricants", 50)
    end
  end
end
