# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  # Settings as values: what is refused before it is sent.
  class AdminConfigsUnitTest < TestCase
    Resource = Admin::Configs::Resource

    test "[Alter bad op] a resource of an unknown type, without a name, or a broker that isn't an id is refused" do
      {
        {type: :topik, name: "x"} => "type :topik: is none of :topic, :group, :broker. Did you mean topic?",
        {type: :topic, name: ""} => "name: of a topic is empty",
        {type: :broker,
         name: "kafka-1"} => "name \"kafka-1\": a broker is named by its id, as in Resource.new(type: :broker, name: 1)"
      }.each { |arguments, message|
        assert_equal message, assert_raises(InvalidRequestError) {
          Resource.new(**arguments)
        }.message
      }
    end

    test "a broker that doesn't answer is named, with those that there are; what the others answered is kept" do
      requests = Admin::ConfigRequests.new(session = Admin::Session.new(Admin::Connection.new({}), timeout_ms: 300))
      client = Object.new
      client.define_singleton_method(:metadata) { |*| {brokers: [[2, "b", 9], [1, "a", 9]]} }
      client.define_singleton_method(:alter_configs) do |rows, *|
        raise Native.error_for(-185, "waiting for a broker") if rows[0][1] == "9"

        rows.map { |type, name, _operations| [type, name, 0, nil, nil] }
      end
      session.define_singleton_method(:native) { client }
      changes = [1, 9].map { |id| Resource.new(type: :broker, name: id).set("log.cleaner.threads", 2) }
      error = assert_raises(RetriableError) { requests.alter(changes, validate_only: false) }

      assert_equal "broker 9: no answer from it within 300 ms; the cluster now has brokers 1, 2 (timed_out)", error.message
      assert_equal [[4, "9"]], error.failures.keys
    end

    test "a resource keeps its operations in order, as texts; types may be Strings or Kafka's numbers" do
      one = Resource.new(type: "topic", name: :orders).set(:"retention.ms", 1).append("cleanup.policy", :compact)
        .subtract("cleanup.policy", "delete").delete("segment.ms")

      assert_equal [:topic, "orders", :broker], [one.type, one.name, Resource.new(type: 4, name: 1).type]
      assert_equal [[:set, "retention.ms", "1"], [:append, "cleanup.policy", "compact"], [:subtract, "cleanup.policy", "delete"],
        [:delete, "segment.ms", nil]], one.operations
      assert_equal ["topic orders, \"cleanup.policy\": is changed 2 times in one request"], one.problems.map(&:to_s)
    end

    test "a described setting has its value, where it comes from, its flags and its synonyms" do
      config = Admin::Configs::Config.of(["retention.ms", "5", 1, [false, false, true, false],
        [["log.retention.ms", nil, 77, [true, true, false, true]]]])
      synonym = config.synonyms.first

      assert_equal ["retention.ms", "5", :topic, false, false, true, false],
        [config.name, config.value, config.source, config.default?, config.read_only?, config.sensitive?, config.synonym?]
      assert_equal ["log.retention.ms", nil, :unknown, true, true, true, []],
        [synonym.name, synonym.value, synonym.source, synonym.default?, synonym.read_only?, synonym.synonym?, synonym.synonyms]
      assert_predicate config, :frozen?
    end

    test "what isn't a resource is refused with all other problems, and nothing is sent" do
      requests = Admin::ConfigRequests.new(nil)
      error = assert_raises(InvalidRequestError) {
        requests.alter(["orders", Resource.new(type: :topic, name: "t")], validate_only: false)
      }

      assert_equal ["\"orders\": is no Penstock::Admin::Configs::Resource. Use Resource.new(type: :topic, name: \"…\").",
        "topic t: no change is given. Call set, delete, append or subtract."], error.problems.map(&:to_s)
      assert_equal "no resource is given", assert_raises(InvalidRequestError) { requests.describe([]) }.message
    end
  end
end
