# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../support/command_line"
require_relative "../support/real_broker"

class DemoOnBrokerTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine
  include Penstock::TestSupport::RealBroker

  test "the demo is right on a real broker too, and takes its topic away again" do
    servers = bootstrap_servers
    out, err, = Open3.capture3(CLEAN.merge("TMPDIR" => @dir), RbConfig.ruby, File.join(ROOT, "examples/demo/main.rb"),
      "--bootstrap", servers, "--count", "4000", "--rate", "2000", "--json")

    table = JSON.parse(out)
    assert_equal [[], 4_000, 0, 0], table.values_at("problems", "processed", "lost", "out_of_order"), err
    topics = JSON.parse(penstock("topics", "list", "--json", "--bootstrap", servers).out)
    assert_empty topics.select { |topic| topic["name"].start_with?("demo_orders_") }
  end
end
