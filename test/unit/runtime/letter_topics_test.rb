# frozen_string_literal: true

require "test_helper"
require "logger"
require "stringio"
require "support/failing"
require "penstock/runtime/letter_topics"

module Penstock
  class LetterTopicsTest < TestCase
    include TestSupport::Failing

    # A cluster that knows some topics and refuses to create others.
    class Cluster
      attr_reader :made

      def initialize(known, refuses = {})
        @known = known
        @refuses = refuses
        @made = []
      end

      def topics(**) = @known

      def create_topic(name, partitions:, config:)
        raise KafkaError.build(number: 29, name: @refuses[name].to_s, message: "no") if @refuses[name]

        @made << [name, partitions]
      end
    end

    def check(cluster, *topics)
      @log = StringIO.new
      wanted = Runtime::LetterTopics.wanted(topics)
      Runtime::BootTopics.new(->(&block) { block.call(cluster) }, Logger.new(@log)).check!(wanted)
      cluster
    end

    def topic(**queue) = route(features: dead_letters(0, **queue))

    test "missing topics are created, with the number of partitions of the source" do
      assert_equal [["dead", 6]], check(Cluster.new({"orders" => 6}), topic).made
      assert_empty check(Cluster.new({"dead" => 1}), topic).made
      tiers = route(features: {retry_topics: Routing::RetryTopics.new(nil, [5, 9], "dead", 0)})
      assert_equal %w[orders.retry.1 orders.retry.2 dead], check(Cluster.new({}), tiers).made.map(&:first)
    end

    test "the cluster isn't asked where no record is dead-lettered, or no topic is set" do
      nobody = Class.new { def topics(**) = raise("asked") }.new
      check(nobody, route, topic(topic: false), topic(topic: :strategy, strategy: -> {}))
      assert_empty @log.string
    end

    test "topics that can't be created are an error at boot, all of them at once" do
      error = assert_raises(ConfigurationError) do
        check(Cluster.new({}, "dead" => :topic_authorization_failed, "grave" => :policy_violation), topic, topic(topic: "grave"))
      end
      assert_equal 2, error.problems.size
      assert_includes error.message, "its failed records go to dead"
    end

    test "a topic that another process creates meanwhile counts as existing" do
      check(Cluster.new({}, "dead" => :topic_already_exists), topic)
      assert_empty @log.string
    end

    test "a cluster that can't be reached doesn't keep the application from starting" do
      away = Class.new { def topics(**) = raise(KafkaError.build(number: -195, name: "_TRANSPORT", message: "away")) }.new
      check(away, topic)
      assert_includes @log.string, "could not check"
    end
  end
end
