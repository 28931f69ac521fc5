# frozen_string_literal: true

require "test_helper"
require "penstock/cli/route_options"
require "support/routes"

module Penstock
  # The options of a topic's route, as `penstock routes` shows them.
  class RouteOptionsTest < TestCase
    include RoutesSupport

    # @return [Array<CLI::RouteOptions::Use>] of one topic
    def uses(&block)
      settings = settings()
      routes = routes(settings) do
        topic(:orders) do
          consumer RoutesSupport::Consumer
          instance_eval(&block) if block
        end
      end
      CLI::RouteOptions.new(settings).of(routes.consumer_groups.first.subscription_groups.first.topics.first)
    end

    test "a topic with default options has none" do
      assert_empty uses
    end

    test "options are shown as they are written, without those that are as by default" do
      written = proc do
        max_messages 7
        batch min: 10, within: 5_000
      end

      assert_equal ["batch min: 10, within: 5000", "max_messages 7"], uses(&written).map(&:to_s).sort
    end

    test "secrets of a topic's own kafka properties are masked" do
      shown = uses { kafka "sasl.password": "s3cret", inherit: true }.join("\n")

      assert_match(/sasl\.password/, shown)
      refute_match(/s3cret/, shown)
    end

    test "values for JSON are plain: callables and other objects are named" do
      assert_equal({by: "a callable", list: [1, "an object of Object"], kind: "String"},
        CLI::RouteOptions.plain({by: -> {}, list: [1, Object.new], kind: String}))
    end
  end
end
