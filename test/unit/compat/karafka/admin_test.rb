# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

# Karafka's admin commands that this version doesn't have.
class CompatKarafkaAdminTest < Penstock::TestCase
  test "commands of Karafka's Admin that don't exist are refused with what to do instead, on the class and on an object" do
    admin = Penstock::Admin.new(kafka: {"bootstrap.servers": "127.0.0.1:1"})
    Penstock::Compat::Karafka::Admin::COMMANDS.each do |name, way_out|
      [Penstock::Admin, admin].each do |asked|
        error = assert_raises(NoMethodError) { asked.public_send(name, "orders", 0, 10) }

        assert_equal "Penstock::Admin has no #{name} in this version: #{way_out}", error.message
        refute_respond_to asked, name
      end
    end
  end

  test "any other name of Admin is undefined" do
    assert_match(/undefined method/, assert_raises(NoMethodError) { Penstock::Admin.nobody }.message)
  end
end
