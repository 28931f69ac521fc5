# frozen_string_literal: true

require "test_helper"
require "penstock/rails/kept_objects"
require "support/routes"

class RailsKeptObjectsTest < Penstock::TestCase
  include RoutesSupport

  class Payload
    def call(message) = message.raw_payload
  end

  class Key
    def self.call(message) = message.raw_key
  end

  class Strategy
    def call(_errors, _attempt) = :skip
  end

  def files(root = __dir__, &block)
    Penstock::OnRails::KeptObjects.files(routes { topic(:orders, &block) }.topics, root)
  end

  test "an object or a class in a route is found with the file of its class, the first verb that has one of it" do
    found = files do
      consumer RoutesSupport::Consumer
      deserializers payload: Payload.new, key: Key
      dead_letter_queue topic: :strategy, strategy: Strategy.new
    end

    assert_equal [__FILE__], found.keys
    assert_match(/\A\w+ of topic orders keeps RailsKeptObjectsTest::\w+ as it was at boot\z/, found.values.first)
  end

  test "each part of a value counts" do
    [-> { deserializers payload: Payload.new }, -> { deserializers key: Key },
      -> { dead_letter_queue topic: "dead", strategy: Strategy.new }].each do |given|
      assert_equal [__FILE__], files(&given).keys
    end
  end

  test "consumers are looked up again, blocks and classes without a name have no file, and other folders don't count" do
    anonymous = Class.new(Payload)
    nested = Class.new.const_set(:Inner, Class.new(Payload))

    assert_empty files { filter { |message| message.key } }
    assert_empty files { consumer Class.new(RoutesSupport::Consumer) }
    [anonymous, nested].each { |type| assert_empty files { deserializers payload: type.new } }
    assert_empty files("/elsewhere") { deserializers payload: Payload.new }
  end
end
