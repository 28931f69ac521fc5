# frozen_string_literal: true

require "test_helper"
require "date"
require "penstock/iterator"

module Penstock
  # The topics, partitions and ranges that an iterator is asked for.
  class IteratorSelectionTest < TestCase
    Last = Reading::Positions::Last

    def wanted(topics, partitions = {"orders" => [0, 1], "clicks" => [0]}, **options)
      Iterator::Selection.new(topics, **options).wanted(partitions).map { |one| [one.key.join("/"), one.start, one.stop] }
    end

    def refusal(topics, **options) = assert_raises(ArgumentError) { Iterator::Selection.new(topics, **options) }.message

    test "[iterator modes] names alone mean all partitions from the beginning" do
      all = [["orders/0", :earliest, nil], ["orders/1", :earliest, nil]]

      assert_equal all, wanted("orders")
      assert_equal all, wanted(:orders)
      assert_equal all + [["clicks/0", :earliest, nil]], wanted(["orders", :clicks])
      assert_equal all, wanted({"orders" => true})
      assert_equal :latest, wanted("clicks", otherwise: :latest)[0][1]
      assert_equal :committed, wanted({"clicks" => true}, committed: true)[0][1]
    end

    test "[iterator modes] a beginning for a topic is one for each of its partitions, or they are named" do
      time = Time.now
      assert_equal [["orders/0", Last.new(9), nil], ["orders/1", Last.new(9), nil], ["clicks/0", time, nil]],
        wanted({"orders" => -9, "clicks" => time})
      assert_equal [["orders/1", 5, nil], ["orders/0", :latest, nil]], wanted({"orders" => {1 => 5, 0 => :latest}})
      assert_equal [["clicks/0", :earliest, nil]], wanted({clicks: "earliest"})
      assert_equal [["clicks/0", Time.at(5), nil]], wanted({"clicks" => DateTime.new(1970, 1, 1, 0, 0, 5)})
      assert_equal [["clicks/0", Time.at(Rational(21, 4)), nil]],
        wanted({"clicks" => DateTime.new(1970, 1, 1, 2, 0, Rational(21, 4), "+02:00")})
    end

    test "ranges of offsets and times, with or without their last value, open at either side" do
      found = [500...900, 500..900, (500..), (...900), Time.at(1)...Time.at(2), Time.at(1)..Time.at(2)]
        .map { |range| wanted({"clicks" => range})[0].drop(1) }

      assert_equal [[500, 900], [500, 901], [500, nil], [:earliest, 900], [Time.at(1), Time.at(2)],
        [Time.at(1), Time.at(2, 1, :millisecond)]], found
    end

    test "a name that is there as a String and as a Symbol is named twice" do
      assert_match(/\Ab: named twice/, refusal({"b" => 8, :b => 8}))
      assert_match(/\Ab: named twice/, refusal(%w[a b] + [:b]))
    end

    test "until is the end of what names none" do
      stop = Time.now
      assert_equal [["orders/0", 5, stop], ["orders/1", 3, 9]], wanted({"orders" => {0 => 5, 1 => 3...9}}, stop: stop)
    end

    test "everything that can't be read is listed, with what is allowed" do
      text = refusal({"a" => nil, 3 => 1, "b" => {-1 => 2, 0 => "x", 1 => {}}, "c" => {}, "d" => (-5..-1)})

      assert_match(/\A7 problems:\n {2}1\. a can't begin at nil\. Allowed: an offset, -N for the last N/, text)
      ["3 is not the name of a topic", "b: -1 is not a partition", "b/0 can't begin at \"x\"", "b/1 can't begin at {}",
        "c: name at least one partition", "d can't be read from -5..-1"].each { |part| assert_includes text, part }
    end

    test "one problem is the message itself" do
      [nil, [], {}].each { |topics| assert_equal "name at least one topic", refusal(topics) }
      assert_equal "orders: named twice", refusal(["orders", :orders])
      assert_match(/\At can't end at a time with follow: true/, refusal({"t" => (Time.now..Time.now)}, follow: true))
    end

    test "a partition that doesn't exist is named, with those that do" do
      error = assert_raises(KafkaError) { wanted({"orders" => {7 => 1}}) }

      assert_equal :unknown_partition, error.code
      assert_match(%r{orders/7: orders has partitions 0 to 1}, error.message)
      assert_match(/clicks has only partition 0/, assert_raises(KafkaError) { wanted({"clicks" => {1 => 1}}) }.message)
    end
  end
end
