# frozen_string_literal: true

require "test_helper"
require "support/consuming"
require "support/embedded_broker"
require "support/free_port"
require "support/real_broker"
require "penstock/cli"
require "penstock/cli/doctor"
require "penstock/testing/broker_command"

module Penstock
  # Mistakes of a user's first days that show only against a cluster, with what is printed.
  class FirstDayOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    MISSING = "Check the topic's name (`penstock topics list`) and that this user may see it, or create it (`penstock topics " \
              "create`)"

    test "an empty list of dead letters of a topic that doesn't exist has what to check" do
      assert_equal 1, cli("dead", "list", "nowhere")
      assert_equal "penstock: nowhere: Broker: Unknown topic or partition (unknown_topic_or_part). #{MISSING}\n", @err.string
    end

    test "the lag in a cluster that can't be reached is refused with the connection's error, not with the group's name" do
      port = TestSupport::FreePort.take.first
      assert_equal 1, cli("groups", "lag", server: "127.0.0.1:#{port}")
      assert_match(/\Apenstock: .*Connection refused.*\n\z/, @err.string)
      refute_match(/name a group/, @err.string)
    end

    test "doctor names the command for a topic that doesn't exist, and doesn't blame the group" do
      session = CLI::Doctor::Session.new(native, topics: %w[nowhere], groups: {"shop" => %w[nowhere]})
      steps = session.steps.to_h { |step| [step.name, step] }

      assert_equal ["doesn't exist", "create it: penstock topics create nowhere"],
        [steps.fetch("topic nowhere").detail, steps.fetch("topic nowhere").hint]
      refute_predicate steps.fetch("group shop"), :failed?
    end

    test "a message to a partition that doesn't exist is refused with what to do" do
      topic = topic_with(1)
      producer = ::Penstock::Producer.new { |config| config.kafka = kafka }
      error = assert_raises(ProduceError) { producer.produce_sync(topic: topic, payload: "x", partition: 77) }

      assert_equal "#{topic}/77: Local: Unknown partition (unknown_partition). The topic has no such partition: choose one " \
                   "that it has, or create more; to produce, leave out `partition:`, so that the key chooses one", error.message
    ensure
      producer&.close
    end

    test "a consumer without dead letters that calls dispatch_to_dlq, and one that marks an offset, get what to write" do
      topic, seen = topic_with(1), queue
      consuming(topic) do
        [-> { dispatch_to_dlq(messages.first) }, -> { mark_as_consumed(messages.first.offset) }].each do |call|
          instance_exec(&call)
        rescue NoMethodError, ArgumentError => error
          seen << error.message
        end
      end

      assert_equal ["dispatch_to_dlq needs a dead letter topic: add `dead_letter_queue topic: \"#{topic}.dead\"` to the route " \
                    "of #{topic}", "a message can be marked, such as messages.last, not 0"], take(seen, 2)
    end

    private

    def cli(*words, server: kafka[:"bootstrap.servers"])
      @err = StringIO.new
      context = CLI::Context.new(stdin: StringIO.new, stdout: StringIO.new, stderr: @err, env: {}, dir: Dir.tmpdir)
      CLI.start([*words, "--bootstrap", server], context)
    end
  end
end
