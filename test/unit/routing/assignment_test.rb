# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock/routing/selection"

# Which process reads which partitions, as set in routes: assign, multiplexing, parallel_segments.
class AssignmentRoutesTest < Penstock::TestCase
  include RoutesSupport

  C = RoutesSupport::Consumer

  def assigned(*written)
    routes { topic(:a) { [consumer(C), assign(*written)] } }.find(:a).assigned
  end

  test "assign takes true, numbers and ranges" do
    assert_equal :all, assigned(true)
    assert_equal [0, 1], assigned(0, 1)
    assert_equal [0, 1, 2, 3, 7], assigned(7, 0..3, 2)
    assert_equal [4], assigned([4])
    assert_nil assigned(false)
    refute routes { topic(:a) { consumer C } }.find(:a).direct?
  end

  test "an invalid assign is reported with the allowed values" do
    [[-1], [0..], [3..1], ["0"], [true, 1], [nil]].each do |written|
      found = problems { topic(:a) { [consumer(C), assign(*written)] } }
      wanted = "true for all partitions, or numbers and ranges of numbers"
      assert_equal ["routes: topic a: assign must be #{wanted}, is #{written}"], found
    end
    assert_match(/assign is missing/, problems { topic(:a) { [consumer(C), assign] } }.join)
  end

  test "assign conflicts with patterns, static members, several connections and subscribed topics: all are reported at once" do
    found = problems do
      pattern(/a.*/) { [consumer(C), assign(true)] }
      topic(:subscribed) { consumer C }
      subscription_group :many do
        multiplexing max: 2
        topic(:b) { [consumer(C), assign(0), kafka({"group.instance.id": "me"}, inherit: true)] }
      end
    end

    ["can't be used with a pattern", "joins no group, so there is no member", "each connection would read the same partitions",
      "has topics with assign (penstock-pattern-"].each do |part|
      assert_equal 1, found.count { |text| text.include?(part) }, "#{part}: #{found.join("\n")}"
    end
  end

  test "a connection that joins no group is not a static member, even if the application sets group.instance.id" do
    with = settings { |config| config.static_membership = "node-1" }
    direct, joined = routes(with) do
      consumer_group(:direct) { topic(:a) { [consumer(C), assign(true)] } }
      consumer_group(:joined) { topic(:a) { consumer C } }
    end.subscription_groups

    assert_equal [nil, "node-1_1"], [direct, joined].map { |group|
      Penstock::Config::KafkaMap.consumer(with, group)["group.instance.id"]
    }
    assert_empty problems(with) { topic(:a) { [consumer(C), assign(true)] } }
  end

  test "multiplexing without min is a fixed number, else it begins with boot or half of max" do
    {{max: 2} => [2, 2, 2, false], {min: 1, max: 5} => [1, 5, 2, true], {min: 3, max: 4} => [3, 4, 3, true],
     {min: 1, max: 4, boot: 4} => [1, 4, 4, true]}.each do |written, expected|
      group = routes { subscription_group(:g) { [multiplexing(**written), topic(:a) { consumer C }] } }.subscription_groups.first
      multiplexing = group.multiplexing

      assert_equal expected, [*multiplexing.to_a.first(3), multiplexing.dynamic?]
      assert_equal 60_000, multiplexing.scale_delay
    end
  end

  test "each of several connections has an id of its own, also as a static member" do
    with = settings { |config| config.static_membership = "node-1" }
    group = routes(with) { subscription_group(:g) { [multiplexing(max: 2), topic(:a) { consumer C }] } }.subscription_groups.first
    connections = [0, 1].map { |number| group.on_connection(number) }

    assert_equal "app_g_0", group.id
    assert_equal %w[app_g_0_0 app_g_0_1], connections.map(&:id)
    assert_equal %w[node-1_0_0 node-1_0_1],
      connections.map { |each| Penstock::Config::KafkaMap.consumer(with, each)["group.instance.id"] }
    assert_equal connections, connections.map { |each| each.topic_for("a").subscription_group }
  end

  test "[multiplexing stats zero] without statistics the number of connections can't change" do
    with = settings(kafka: {**KAFKA, "statistics.interval.ms": 0})
    drawn = ->(**options) { proc { subscription_group(:g) { [multiplexing(**options), topic(:a) { consumer C }] } } }

    assert_match(/subscription_group g, consumer_group app: multiplexing with min below max needs statistics/,
      problems(with, &drawn.call(min: 1, max: 2)).join)
    assert_empty problems(with, &drawn.call(max: 2))
  end

  test "all problems of multiplexing are reported at once" do
    found = problems(settings { |config| config.static_membership = "x" }) do
      subscription_group(:one) { [multiplexing(max: 1), topic(:a) { consumer C }] }
      subscription_group(:crossed) { [multiplexing(min: 3, max: 2), topic(:b) { consumer C }] }
      subscription_group(:boot) { [multiplexing(min: 1, max: 2, boot: 3), topic(:c) { consumer C }] }
      subscription_group(:empty) { [multiplexing, topic(:d) { consumer C }] }
    end.join("\n")

    ["multiplexing needs more than one connection", "min (3) is above its max (2)", "boot (3) is not between min (1) and max (2)",
      "can't be used with static membership", "multiplexing max: is missing"].each { |part| assert_includes found, part }
  end

  test "[pattern + multiplexing] one discovered topic object" do
    group = routes { subscription_group(:g) { [multiplexing(max: 2), pattern(/a.*/) { consumer C }] } }.subscription_groups.first
    topics = [0, 1].map { |number| group.on_connection(number).topic_for("abc") }

    assert_equal [["abc", "abc"], [C, C]], [topics.map(&:name), topics.map(&:consumer)]
    assert_equal topics.first.features, topics.last.features
  end

  test "parallel_segments turns a group into several, each with all topics" do
    drawn = routes do
      consumer_group :reports do
        parallel_segments(count: 3, partitioner: ->(message) { message.key })
        topic(:a) { consumer C }
        topic(:b) { consumer C }
      end
      topic(:c) { consumer C }
    end

    assert_equal %w[reports-parallel-0 reports-parallel-1 reports-parallel-2 app], drawn.consumer_groups.map(&:id)
    assert_equal [%w[a b]] * 3 + [%w[c]], drawn.consumer_groups.map { |group| group.topics.map(&:name) }
    topic = drawn.find(:a, "reports-parallel-2")
    assert_equal [2, "reports"], [topic.group.segment_id, topic.group.segment_origin]
    assert_equal [nil, nil], [drawn.find(:c).group.segment_id, drawn.find(:c).group.segment_origin]
    assert_equal 3, drawn.select(selection(include: {consumer_groups: ["reports"]})).consumer_groups.size
    assert_equal 2, drawn.select(selection(include: {consumer_groups: ["reports-parallel-2"]})).find(:a).group.segment_id
  end

  # @return [Array<Integer>] how many of the keys each segment has
  def sizes(keys, count, **options)
    group = routes do
      consumer_group(:reports) do
        parallel_segments(count: count, partitioner: ->(message) { message.key }, **options)
        topic(:a) { consumer C }
      end
    end.consumer_groups.first
    reducer = group.segment.reducer
    keys.map { |key| reducer.call(key) }.tally.values_at(*0...count).map(&:to_i)
  end

  test "[segments reducer] crc32 divides keys evenly where the default, a sum of bytes, doesn't" do
    keys = Array.new(1_000) { |number| "order-#{number}" }

    assert_equal [28, 72], sizes(keys, 20).minmax
    assert_equal [40, 61], sizes(keys, 20, reducer: :crc32).minmax
    assert_equal sizes(keys, 20, reducer: :crc32), sizes(keys, 20, reducer: "crc32")
    assert_equal [0, 1_000], sizes(keys, 2, reducer: ->(_key) { 1 })
  end

  test "a reducer that is neither known nor callable is a problem that names both" do
    found = problems do
      consumer_group(:reports) do
        parallel_segments(count: 2, partitioner: ->(message) { message.key }, reducer: :crc16)
        topic(:a) { consumer C }
      end
    end

    assert_match(/reducer.*crc32.*an object with the method call.*crc16/m, found.join("\n"))
  end

  test "a group of one segment isn't changed, and problems of a split one are reported once" do
    assert_equal %w[x], routes { consumer_group(:x) { [parallel_segments, topic(:a) { consumer C }] } }.consumer_groups.map(&:id)
    found = problems do
      consumer_group(:x) { [parallel_segments(count: 2), topic(:a)] }
      consumer_group("x-parallel-1") { topic(:b) { consumer C } }
    end

    assert_equal 3, found.size, found.join("\n")
    ["consumer_group x: parallel_segments has no partitioner", "has no consumer",
      "consumer_group x-parallel-1: is also a segment of x"].each { |part| assert(found.any? { |one| one.include?(part) }, part) }
  end

  def selection(**options) = Penstock::Routing::Selection.new(**options)
end
