# frozen_string_literal: true

require "test_helper"
require "support/declared"
require "penstock/declaratives/consequences"

module Penstock
  # Which changes a person is warned of.
  class DeclarativesConsequencesTest < TestCase
    include TestSupport::Declared

    def of(property, from, to) = Penstock::Declaratives::Consequences.of_changes(property => [from, to])

    test "shorter retention deletes records; longer doesn't" do
      assert_equal ["retention.ms goes from -1 to 60000: records beyond it are deleted"], of("retention.ms", "-1", "60000")
      assert_match(/retention\.bytes goes from 10 to 9/, of("retention.bytes", "10", "9").first)
      assert_empty of("retention.ms", "60000", "-1")
      assert_empty of("retention.ms", "9", "10")
    end

    test "compaction that begins" do
      assert_match(/is compacted from now on/, of("cleanup.policy", "delete", "compact").first)
      assert_equal 1, of("cleanup.policy", "delete", "compact, delete").size
    end

    test "retention that begins, also while compaction continues" do
      ["delete", "compact,delete", "delete, compact"].each do |to|
        assert_match(/\Aretention applies to it from now on: .* also the last ones/, of("cleanup.policy", "compact", to).first)
      end
      assert_equal 2, of("cleanup.policy", "", "compact,delete").size
    end

    test "a policy that deletes no more than before needs no warning" do
      assert_empty of("cleanup.policy", "compact,delete", "compact")
      assert_empty of("cleanup.policy", "compact,delete", "delete")
      assert_empty of("cleanup.policy", "compact,delete", "delete,compact")
    end

    test "smaller messages; other properties need no warning" do
      assert_equal ["messages above 5 bytes are refused from now on"], of("max.message.bytes", "6", "5")
      assert_empty of("max.message.bytes", "5", "6")
      assert_empty of("segment.ms", "9", "1")
    end

    test "a topic that can't be created, or that refuses records" do
      found = Penstock::Declaratives::Consequences.of_creation(wanted(config: {"min.insync.replicas" => "4"}), 2)

      assert_equal ["replication factor 3, but the cluster has 2 brokers",
        "min.insync.replicas 4 with replication factor 3: as soon as one broker is down, producers with acks=all are refused; " \
        "brokers before Kafka 3.7 refuse them always"], found
    end
  end
end
