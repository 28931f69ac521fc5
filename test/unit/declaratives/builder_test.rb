# frozen_string_literal: true

require "test_helper"
require "penstock"

module Penstock
  # Which topics an application declares, and what is wrong in its declarations.
  class DeclarativesBuilderTest < TestCase
    def application(&routes)
      Application.new("shop") { |config| config.kafka = {"bootstrap.servers": "here:1"} }.tap do |application|
        application.routing.draw(&routes) if routes
      end
    end

    def declared(routes = nil, &block)
      application(&routes).declaratives.draw(&block).topics.map(&:to_h)
    end

    def problems(&block) = application.declaratives.draw(&block).problems.map(&:to_s)

    test "a topic has what it sets itself, then what defaults set, then one partition and one replica" do
      found = declared do
        defaults do
          replication_factor 3
          config("retention.ms": 5, "segment.ms": 6)
        end
        topic(:orders) do
          partitions 6
          config("retention.ms": 7, "cleanup.policy": %w[compact delete])
          protect
        end
        topic("clicks")
      end

      assert_equal [
        {name: "clicks", partitions: 1, replication_factor: 3, config: {"retention.ms" => "5", "segment.ms" => "6"},
         protected: false},
        {name: "orders", partitions: 6, replication_factor: 3, protected: true,
         config: {"retention.ms" => "7", "segment.ms" => "6", "cleanup.policy" => "compact,delete"}}
      ], found
    end

    test "[declaratives draw] wins over routing config" do
      routes = proc do
        topic(:orders) do
          active false
          config(partitions: 3, "retention.ms": 1)
        end
        topic(:clicks) do
          active false
          config(partitions: 4, protect: true)
        end
      end
      found = declared(routes) { topic(:orders) { partitions 6 } }

      assert_equal [["clicks", 4, {}, true], ["orders", 6, {}, false]],
        found.map { |topic| topic.values_at(:name, :partitions, :config, :protected) }
    end

    test "several drawings add up; the same topic may be declared twice with the same values" do
      declaratives = application.declaratives.draw { topic(:a) { partitions 2 } }.draw { topic(:b) }.draw {
        topic(:a) {
          partitions 2
        }
      }

      assert_equal [%w[a b], []], [declaratives.topics.map(&:name), declaratives.problems]
      assert_equal 2, declaratives.find_topic(:a).partitions
      assert_nil declaratives.find_topic(:c)
    end

    test "a topic that is declared twice with different values is a problem with both places" do
      found = problems do
        topic(:a) { partitions 2 }
        topic(:a) { partitions 3 }
      end

      assert_equal ["declaratives: topic a: is declared 2 times, differently (builder_test.rb and builder_test.rb). Keep one " \
        "of them"], found.map { |one| one.gsub(/\.rb:\d+/, ".rb") }
    end

    test "a property may be set twice with the same value, also a list" do
      found = problems do
        topic(:a) do
          config("cleanup.policy": %w[compact delete], "retention.ms": 5)
          config("cleanup.policy": %w[compact delete], "retention.ms": "5")
          config("cleanup.policy": "delete,compact")
        end
      end

      assert_empty found
    end

    test "a property that is set twice with different values is a problem" do
      found = problems { 2.times { |index| topic(:a) { config("cleanup.policy": %w[compact delete].first(index + 1)) } } }
      assert_match(/topic a: is declared 2 times, differently/, found.first)

      found = problems { topic(:a) { [%w[compact], %w[compact delete]].each { |list| config("cleanup.policy": list) } } }
      assert_match(/config: cleanup.policy is set twice, with different values. Keep one/, found.first)
    end

    test "an inactive topic is left alone, also if a route declares it, and stays protected" do
      routes = proc do
        topic(:orders) do
          active false
          config(partitions: 3)
        end
      end
      declaratives = application(&routes).declaratives.draw do
        topic(:orders) do
          active false
          protect
        end
      end

      assert_empty declaratives.topics
      assert_equal ["orders"], declaratives.protected_names
    end

    test "topics that defaults or routes protect are protected" do
      routes = proc do
        topic(:orders) do
          active false
          config(partitions: 3, protect: true)
        end
      end
      declaratives = application(&routes).declaratives.draw do
        defaults { protect }
        topic(:a)
        topic(:b) { protect false }
      end

      assert_equal %w[a orders], declaratives.protected_names
    end

    test "topics of routes that name another cluster are foreign" do
      routes = proc do
        topic(:orders) do
          active false
          config(partitions: 3)
          kafka({"bootstrap.servers": "there:1"})
        end
      end
      declaratives = application(&routes).declaratives

      assert_equal [[], ["orders"]], [declaratives.topics, declaratives.foreign]
    end

    test "all mistakes are reported at once by validate!, with their lines and the nearest names" do
      application = application()
      application.declaratives.draw do
        defalts { partitions 1 }
        topic(:a) do
          partitons 3
          partitions 0
          config("retention.s": 4, "segment.ms": nil)
          protect "yes"
        end
        topic("no/name")
      end

      found = assert_raises(ConfigurationError) { application.validate! }.problems.map { |one| one.to_s.gsub(/\.rb:\d+/, ".rb") }
      assert_equal [
        "declaratives: there is no option defalts. Did you mean defaults?",
        "declaratives: topic a (builder_test.rb): there is no option partitons. Did you mean partitions?",
        "declaratives: topic a (builder_test.rb): partitions is 0, but must be an Integer of at least 1",
        "declaratives: topic a (builder_test.rb): config has no option retention.s, and Kafka has no such topic property. " \
        "Did you mean retention.ms?",
        "declaratives: topic a (builder_test.rb): config: segment.ms is nil. Leave it out to keep the broker's value",
        "declaratives: topic a (builder_test.rb): protect is \"yes\", but must be true or false",
        "declaratives: topic: \"no/name\" is not a valid name. It must be a name of 1 to 249 letters, digits, dots, dashes and " \
        "underscores (but not . or ..)"
      ].sort, found.grep(/declaratives/).sort
    end

    test "a declared topic needs no config in its route with strict_declarative_topics" do
      application = Application.new("shop") do |config|
        config.kafka = {"bootstrap.servers": "here:1"}
        config.strict_declarative_topics = true
      end
      application.routing.draw { topic(:orders) { active false } }
      assert_match(/isn't declared/, application.routes.problems.join)

      application.declaratives.draw { topic(:orders) }
      refute_match(/isn't declared/, application.routes.problems.join)
    end

    test "draw without a block raises, and clear discards what was drawn" do
      declaratives = application.declaratives
      assert_raises(ArgumentError) { declaratives.draw }
      declaratives.draw { topic(:a) { partitions 0 } }.clear

      assert_equal [[], [], []], [declaratives.topics, declaratives.problems, declaratives.names]
    end
  end
end
