# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/processing/recording/row_encoder"

module Penstock
  class RecordingRowEncoderTest < TestCase
    test "a key recorded in plain text can have any bytes" do
      plain = Processing::Recording::RowEncoder::PLAIN
      assert_equal ["k\u00e9", "k\uFFFD", 7, nil], ["k\xC3\xA9".b.freeze, "k\xFF".b, 7, nil].map(&plain)
      assert_equal "[\"k\uFFFD\"]", JSON.generate([plain.call("k\xFF".b)])
    end

    test "the names, which all poll loops write, are found without `hash` of their keys, where Ruby may switch threads" do
      flow = Struct.new(:at) do
        def self.name = "Penstock::Consumer::Flow::Wait"
        def self.hash = raise("Ruby may switch threads here")
      end
      assert_equal [:Wait, 7], Processing::Recording::RowEncoder.flow(flow.new(7))
    end
  end
end
