# frozen_string_literal: true

require "test_helper"
require "penstock/app"

# Methods of Karafka's application and server, called on Penstock's.
class CompatKarafkaApplicationTest < Penstock::TestCase
  def app = Class.new(Penstock::App) { default false }

  test "a method of Karafka's application that doesn't exist here is refused with what to do instead" do
    Penstock::Compat::Karafka::Application::INSTEAD.each do |name, instead|
      mine = app
      error = assert_raises(NoMethodError) { mine.public_send(name) }

      assert_equal "a Penstock application has no #{name}: #{instead}", error.message
      refute_respond_to mine, name
    end
    assert_match(/undefined method/, assert_raises(NoMethodError) { app.nobody }.message)
  end

  test "a method of Karafka's server is refused with what to do instead" do
    error = assert_raises(NoMethodError) { Penstock::Server.stop }

    assert_includes error.message, "Penstock::Server has no stop: use the application's class: PenstockApp.run!"
  end
end
