# frozen_string_literal: true

require "test_helper"
require "penstock"

module Penstock
  # The options of an iterator, and where it connects.
  class IteratorTest < TestCase
    KAFKA = {"bootstrap.servers": "nowhere:1"}.freeze

    def refusal(*topics, **options) = assert_raises(ArgumentError) { Iterator.new(*topics, settings: KAFKA, **options) }.message

    # @return [Hash{String => String}] the properties with which it connects
    def properties(*topics, **options)
      given = nil
      open = ->(properties, **) { throw :opened, given = properties }
      catch(:opened) { Reading::Connection.stub(:open, open) { Iterator.new(*topics, **options).to_a } }
      given
    end

    test "topics can be given without braces" do
      assert_equal "#<Penstock::Iterator orders, clicks>", Iterator.new("orders" => -1, "clicks" => 5, :settings => KAFKA).inspect
    end

    test "topics in braces and topics without aren't mixed: those in braces would be left out" do
      assert_match(/topics are given twice, as \{"a"=>-1\} and as b: write one Hash in braces/, refusal({"a" => -1}, "b" => -1))
    end

    test "unknown options are named, with what was meant" do
      assert_equal "there is no option yeld_nil: Did you mean yield_nil?", refusal("t", yeld_nil: true)
      assert_match(/topics are named by Strings, as in "orders" => -100/, refusal(orders: -5))
    end

    test "values that contradict or can't be used are refused before a connection is opened" do
      assert_match(/until: 500 is neither :end nor a Time.*0\.\.\.500/, refusal("t", until: 500))
      assert_match(/follow: true has no end/, refusal("t", follow: true, until: Time.now))
      assert_kind_of Iterator, Iterator.new("t", until: DateTime.now, settings: KAFKA)
      [0, "3", -1].each do |count|
        assert_match(/max_messages: .* is not a number of at least 1/, refusal("t", max_messages: count))
      end
      text = refusal("t", until: 5, max_wait_time: 0, timeout_ms: "1")
      assert_match(/\Auntil: 5 .*; max_wait_time: 0 .*; timeout_ms: "1"/, text)
    end

    test "without an application it needs the address of a cluster" do
      error = assert_raises(ConfigurationError) { Iterator.new("t") }

      assert_match(/define an application first, or pass settings: {"bootstrap.servers"/, error.message)
    end

    test "it commits nothing by itself, creates no topics, joins no group, and reports ends" do
      given = {"group.instance.id": "x", "enable.auto.commit": true, "group.protocol": "consumer", "enable.partition.eof": false,
               "auto.offset.reset": "latest"}
      found = properties("t", settings: {**KAFKA, **given})

      assert_equal %w[nowhere:1 false false false true earliest], found.values_at("bootstrap.servers", "enable.auto.commit",
        "enable.auto.offset.store", "allow.auto.create.topics", "enable.partition.eof", "auto.offset.reset")
      assert_empty found.keys & %w[group.instance.id group.protocol partition.assignment.strategy]
      waits = [properties("t", settings: KAFKA), properties("t", settings: KAFKA, follow: true)]
      assert_equal %w[100 500], waits.map { |one| one["fetch.wait.max.ms"] }
    end

    test "the application's properties and token provider are used, and settings replace single ones" do
      provider = Object.new
      surroundings = {kafka: {"bootstrap.servers": "a:1", "client.id": "shop"}, token_provider: provider}
      Iterator.stub(:surroundings, -> { -> { surroundings } }) do
        options = nil
        open = ->(_properties, **given) { throw :opened, options = given }
        catch(:opened) { Reading::Connection.stub(:open, open) { Iterator.new("t", timeout_ms: 5).to_a } }

        assert_equal({timeout_ms: 5, token_provider: provider}, options)
        assert_equal %w[b:1 shop],
          properties("t", settings: {"bootstrap.servers": "b:1"}).values_at("bootstrap.servers", "client.id")
      end
    end

    test "an application introduces itself" do
      Class.new(App) do
        setup do |config|
          config.client_id = "shop"
          config.kafka = {"bootstrap.servers": "a:1"}
        end
        routes.draw do
          defaults { deserializer ->(_) { "default" } }
          topic(:orders) { active false; deserializer ->(_) { "orders" } } # rubocop:disable Style/Semicolon
        end
      end.then do |application|
        found = Iterator.surroundings.call
        message = Message.new(Messages::MemoryBatch.new("t", 0, [Messages::MemoryBatch::Row.new(offset: 0)]), 0)

        assert_equal [{"client.id": "shop", "bootstrap.servers": "a:1"}, %w[orders default]],
          [found[:kafka], %w[orders other].map { |topic| found[:deserializers].call(topic).payload.call(message) }]
      ensure
        Penstock.forget_app(application)
      end
      assert_nil Iterator.surroundings.call
    end
  end
end
