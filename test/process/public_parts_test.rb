# frozen_string_literal: true

require "test_helper"
require "support/ruby_program"

# Constants of Penstock are loaded when they are first named. A part that a user requires by itself must not define one
# of them partially: nobody would load the rest.
class PublicPartsTest < Penstock::TestCase
  PARTS = %w[testing/cluster testing/buffered_client testing/fatal_errors monitors/datadog_producer].freeze
  PROGRAM = <<~RUBY
    require "penstock"
    require "penstock/PART"
    module Penstock
      names = ON_DEMAND.select { |name, _path| const_defined?(name, false) }
      print names.reject { |_name, path| $LOADED_FEATURES.any? { |file| file.end_with?("/lib/\#{path}.rb") } }.keys
    end
  RUBY

  PARTS.each do |part|
    test "penstock/#{part} defines no constant partially" do
      output, result = Penstock::TestSupport::RubyProgram.run(PROGRAM.sub("PART", part))

      assert_predicate result, :success?, output
      assert_equal "[]", output
    end
  end

  test "the commands of Penstock::Admin are available next to an embedded broker" do
    output, result = Penstock::TestSupport::RubyProgram.run(<<~RUBY)
      require "penstock"
      require "penstock/testing/cluster"
      Penstock::Testing::Cluster.start(topics: {"orders" => 2}) do |cluster|
        Class.new(Penstock::App) { setup { |config| config.kafka = cluster.kafka } }
        Penstock::Admin.create_topic("events", partitions: 3)
        print Penstock::Admin.topics.sort
      end
    RUBY

    assert_predicate result, :success?, output
    assert_equal '[["events", 3], ["orders", 2]]', output
  end
end
