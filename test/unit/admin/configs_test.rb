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

    test "a list may be an Array, as in declared topics" do
      resource = Resource.new(type: :topic, name: "t").set("a", %w[x y]).append(:b, [:x]).subtract("c", %w[x]).set("d", nil)

      assert_equal [[:set, "a", "x,y"], [:append, "b", "x"], [:subtract, "c", "x"], [:set, "d", nil]], resource.operations
    end

    test "a topic is created with a list that is an Array" do
      asked = []
      session = Object.new
      session.define_singleton_method(:change) { |_name, rows| asked.concat(rows) }
      session.define_singleton_method(:wait_until_visible) { |_what| nil }
      Admin::Topics.new(session).create("t", 2, 1, {"cleanup.policy": %w[compact delete], "retention.ms": 5})

      assert_equal [["t", 2, 1, {"cleanup.policy" => "compact,delete", "retention.ms" => "5"}]], asked
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

    # Answers with a topic's settings as they are at each request, and remembers the requests.
    class Slow
      attr_reader :calls

      def initialize(*answers)
        @answers = answers
        @calls = []
      end

      def alter_configs(rows, *, validate_only)
        @calls << [:alter, validate_only]
        rows.map { |type, name, _operations| [type, name, 0, nil, nil] }
      end

      def describe_configs(rows, *)
        @calls << :describe
        settings = (@answers.size > 1) ? @answers.shift : @answers.first
        rows.map do |type, name, _|
          next [type, name, settings, "no", []] if settings.is_a?(Integer)

          [type, name, 0, nil, settings.map { |setting, (value, source)| [setting, value, source || 1, [false] * 4, []] }]
        end
      end
    end

    def altered(slow, *resources, timeout_ms: 200, **options)
      session = Admin::Session.new(Admin::Connection.new({}), timeout_ms: timeout_ms, pause_ms: 1)
      connection = session.connection
      connection.define_singleton_method(:native) { |_limit_ms| slow }
      Admin::ConfigRequests.new(session).alter(resources, validate_only: false, **options)
      slow.calls
    end

    test "a change of a topic is waited for until a broker describes it, in the broker's own form" do
      topic = Resource.new(type: :topic, name: "orders").set("min.cleanable.dirty.ratio", "0.50").delete("segment.ms")
        .append("cleanup.policy", "compact").subtract("flags", "a")
      seen = {"min.cleanable.dirty.ratio" => "0.5", "segment.ms" => ["7", 5], "cleanup.policy" => "delete,compact",
              "flags" => "b"}
      outdated = {"min.cleanable.dirty.ratio" => "0.6", "segment.ms" => "1", "cleanup.policy" => "delete", "flags" => "a,b"}
        .map { |setting, value| seen.merge(setting => value) }

      assert_equal [[:alter, false], *[:describe] * 5], altered(Slow.new(*outdated, seen), topic)
    end

    test "a change that can't be seen, or may not be, is made nevertheless; brokers and checks aren't waited for" do
      set = ->(type, name) { Resource.new(type: type, name: name).set("segment.ms", 1) }

      assert_operator altered(Slow.new({"segment.ms" => "7"}), set.call(:topic, "t"), timeout_ms: 20).size, :>, 2
      assert_equal [[:alter, false], :describe], altered(Slow.new(29), set.call(:topic, "t"))
      assert_equal [[:alter, false], :describe, :describe], altered(Slow.new(3, {"segment.ms" => "1"}), set.call(:topic, "t"))
      assert_equal [[:alter, false]], altered(Slow.new({}), set.call(:broker, 1))
      assert_equal [[:alter, true]], altered(Slow.new({}), set.call(:topic, "t"), validate_only: true)
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
