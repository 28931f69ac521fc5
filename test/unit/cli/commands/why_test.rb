# frozen_string_literal: true

require "test_helper"
require "penstock/cli/target"
require "penstock/cli/why/question"
require "support/commands"

module Penstock
  # `penstock why`: how it reads its arguments, and whose group it asks about.
  class WhyCommandTest < TestCase
    include TestSupport::Commands

    Answer = Struct.new(:lines, :to_h)
    Question = Struct.new(:asked) do
      def answer(offset)
        asked << offset
        Answer.new(["it is complete"], {state: "complete"})
      end
    end

    def why(*argv, groups: {})
      make = lambda do |_target, group, topic, partition, options|
        @asked = [group, topic, partition]
        @options = options
        Question.new(@asked)
      end
      target = TestSupport::Commands::Target.new(groups: groups)
      replacing(CLI::Target, target) { CLI::Why::Question.stub(:new, make) { penstock("why", *argv) } }
    end

    test "topic, partition and offset are asked about, in the named group" do
      assert_equal "it is complete\n", why("orders", "3", "70", "--group", "g", "--dump", "f").out
      assert_equal [["g", "orders", 3, 70], "f"], [@asked, @options[:dump]]
      assert_equal "{\n  \"state\": \"complete\"\n}\n", why("orders", "3", "70", "--group", "g", "--json").out
    end

    test "without --group it is the group of the application that consumes the topic" do
      why("orders", "0", "1", groups: {"a" => ["clicks"], "b" => %w[orders clicks]})
      assert_equal "b", @asked.first
      assert_match(/name the group with --group: no application here consumes orders/,
        why("orders", "0", "1", groups: {"a" => []}).err)
      assert_match(/name the group with --group: a, b$/,
        why("orders", "0", "1", groups: {"a" => ["orders"], "b" => ["orders"]}).err)
    end

    test "partition and offset are whole numbers of at least 0" do
      %w[x 1.5].each do |partition|
        assert_match(/PARTITION must be a number of at least 0, is "#{partition}"/,
          why("orders", partition, "0", "--group", "g").err)
      end
      assert_match(/OFFSET must be a number of at least 0, is "0x1f"/, why("orders", "0", "0x1f", "--group", "g").err)
    end
  end
end
