# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  # Rights as values.
  class AdminAclTest < TestCase
    Acl = Admin::Acl
    RIGHT = {resource_type: :topic, resource_name: "orders", resource_pattern_type: :literal, principal: "User:billing",
             host: "*", operation: :read, permission_type: :allow}.freeze

    test "a right is a value: equal by its parts, immutable, and it reads as a sentence" do
      one, other = Acl.new(**RIGHT), Acl.new(**RIGHT)

      assert_equal [one, 1], [other, [one, other].uniq.size]
      refute_equal one, Acl.new(**RIGHT, host: "10.0.0.1")
      assert_predicate one, :frozen?
      assert_equal "allow User:billing (from *) read topic orders (literal)", one.to_s
    end

    test "Kafka's and Karafka's names of resources are understood; the cluster has one name" do
      group = Acl.new(**RIGHT, resource_type: "group")
      cluster = Acl.new(**RIGHT, resource_type: :broker, resource_name: nil)

      assert_equal [:consumer_group, :cluster, "kafka-cluster"],
        [group.resource_type, cluster.resource_type, cluster.resource_name]
      assert_equal [4, "kafka-cluster", 3, "User:billing", "*", 3, 3], cluster.to_row
    end

    test "[Alter bad op] all names that don't exist are refused at once" do
      error = assert_raises(InvalidRequestError) {
        Acl.new(**RIGHT, resource_type: :topics, operation: :reed, permission_type: :yes)
      }

      assert_equal ["resource_type: :topics", "operation: :reed", "permission_type: :yes"], error.problems.map(&:path)
      assert_equal "Did you mean read?", error.problems[1].hint
      assert_match(/\AThe request has 3 problems:\n  1\. resource_type/, error.message)
    end

    test "[Alter bad op] a principal without a type is refused, also in a filter, where it would match nothing" do
      [-> { Acl.new(**RIGHT, principal: "billing") }, -> { Acl.filter(principal: "billing") }].each do |build|
        assert_equal "principal: \"billing\" has no type. Write \"User:billing\"",
          assert_raises(InvalidRequestError, &build).message
      end
    end

    test "[Alter bad op] a principal without a name is refused" do
      assert_equal "principal: \"User:\" has no name. Write \"User:NAME\"",
        assert_raises(InvalidRequestError) { Acl.new(**RIGHT, principal: "User:") }.message
    end

    test "[Alter bad op] names with a zero byte are refused, all at once" do
      error = assert_raises(InvalidRequestError) { Acl.new(**RIGHT, resource_name: "a\0", principal: "User:a\0b", host: "\0") }

      assert_equal %w[resource_name principal host], error.problems.map(&:path)
      assert_equal "resource_name: \"a\\u0000\" contains a zero byte", error.problems.first.to_s
    end

    test "[Alter bad op] another name of the cluster is refused, since the right would be one on the only cluster" do
      cluster = {**RIGHT, resource_type: :cluster}
      assert_equal "resource_name: \"foo\" is no name of a cluster. Write \"kafka-cluster\", or leave it nil",
        assert_raises(InvalidRequestError) { Acl.new(**cluster, resource_name: "foo") }.message
      [nil, "kafka-cluster", :"kafka-cluster"].each do |name|
        assert_equal "kafka-cluster", Acl.new(**cluster, resource_name: name).resource_name
      end
    end

    test "a filter matches everything that it doesn't name, and what it leaves open is what a right needs" do
      filter = Acl.filter(principal: "User:x")

      assert_equal [1, nil, 1, "User:x", nil, 1, 1], filter.to_row
      assert_equal %w[resource_type resource_pattern_type operation permission_type resource_name host],
        filter.problems.map { |problem| problem.message[/\A\w+/] }
      assert_empty Acl.new(**RIGHT).problems
    end

    test "a right of a kind that librdkafka doesn't know is read as unknown" do
      acl = Acl.of([0, "x", 3, "User:x", "*", 0, 3])

      assert_equal [:unknown, :unknown, :allow], [acl.resource_type, acl.operation, acl.permission_type]
    end
  end
end
