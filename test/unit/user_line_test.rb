# frozen_string_literal: true

require "test_helper"
require "penstock/user_line"

class UserLineTest < Penstock::TestCase
  test "the line outside of the library is found, without its folder" do
    assert_equal "user_line_test.rb:#{__LINE__}", Penstock::UserLine.find
  end
end
