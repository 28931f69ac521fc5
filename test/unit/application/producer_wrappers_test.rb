# frozen_string_literal: true

require "test_helper"
require "penstock/application/producer_wrappers"
require "penstock/producer"
require "penstock/producer/middleware"

module Penstock
  class ProducerWrappersTest < TestCase
    def wrapper(name)
      lambda do |type, messages, &block|
        @calls << [name, type]
        block.call(messages.map { |message| [*message, name] })
      end
    end

    def setup
      super
      @calls = []
      @wrappers = Application::ProducerWrappers.new
    end

    test "messages that go to no producer run through all wrappers, the first outermost; without any they stay as they are" do
      messages = [[1]]
      assert_same messages, @wrappers.call("outbox.enqueue", messages) { |own| own }
      @wrappers.add(wrapper(:outer))
      @wrappers.add(wrapper(:inner))

      assert_equal [[1, :outer, :inner]], @wrappers.call("outbox.enqueue", messages) { |own| own }
      assert_equal [[:outer, "outbox.enqueue"], [:inner, "outbox.enqueue"]], @calls
    end

    test "a middleware of one's own without around is refused by name, when a wrapper is to be added" do
      own = Struct.new(:run, :append, :prepend).new
      @wrappers.apply(own)

      error = assert_raises(ConfigurationError) { @wrappers.add(wrapper(:one)) }
      assert_match(/config\.middleware of a producer is a .*, which has no method around: Proc can't wrap/, error.message)
    end

    test "producers that exist and later ones get a wrapper, each once" do
      early, late = Producer::Middleware.new, Producer::Middleware.new
      @wrappers.apply(early)
      @wrappers.add(wrapper(:one))
      2.times { @wrappers.apply(late) }
      @wrappers.apply(early)
      [early, late].each { |middleware|
        middleware.wrapper.call("message.produce_sync", [[1]]) { |own|
          assert_equal [[1, :one]], own
        }
      }

      assert_equal [[:one, "message.produce_sync"]] * 2, @calls
    end
  end
end
