# frozen_string_literal: true

require "test_helper"
require "penstock/config/builder"
require "penstock/routing/builder"
require "penstock/serialization/deserializers"

module Penstock
  class RoutingRowsTest < TestCase
    C = Class.new { def consume = nil }

    def routes(&block)
      settings = Config::Builder.new.record { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }.settings
      Routing::Builder.new.draw(&block).routes(settings)
    end

    test "[eofed without kafka flag] eofed with enable.partition.eof off is refused" do
      problems = routes { topic(:a) { [consumer(C), eofed, kafka({"enable.partition.eof": false}, inherit: true)] } }.problems
      assert(problems.any? { |problem| problem.to_s.include?("eofed needs enable.partition.eof") }, problems.inspect)
    end

    test "[atomic deserializers] missing values come from the framework's defaults, not from the defaults block" do
      key = ->(_) { :mine }
      found = routes do
        defaults { deserializers key: key }
        topic(:own) { [consumer(C), deserializers(payload: ->(_) {})] }
        topic(:none) { consumer C }
      end
      own, none = %w[own none].map { |name| found.find(name).deserializers }
      assert_same Serialization::Deserializers::DEFAULT.key.class, own.key.class
      refute_same none.key.class, own.key.class
    end
  end
end
