# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../support/command_line"
require_relative "../support/real_broker"

class DemoOnBrokerTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine
  include Penstock::TestSupport::RealBroker

  test "the demo's table is right on a real broker too, and the demo deletes its topic" do
    servers = bootstrap_servers
    out, err, = Open3.capture3(CLEAN.merge("TMPDIR" => @dir), RbConfig.ruby, File.join(ROOT, "examples/demo/main.rb"),
      "--bootstrap", servers, "--count", "4000", "--rate", "2000", "--json")

    table = JSON.parse(out)
    assert_equal [[], 4_000, 0, 0], table.values_at("problems", "processed", "lost", "out_of_order"), err
    # A broker answers to a deletion before its metadata forgets the topic.
    assert wait_until(20, "the end of the topic", state: -> { [demo_topics(servers), err] }) { demo_topics(servers).empty? }
  end

  private

  def demo_topics(servers)
    topics = JSON.parse(penstock("topics", "list", "--json", "--bootstrap", servers).out)
    topics.select { |topic| topic["name"].start_with?("demo_orders_") }
  end
end
