# frozen_string_literal: true

require "test_helper"
require "support/routes"

# Whether each topic's desired state on the cluster is declared.
class RoutingDeclarationsTest < Penstock::TestCase
  include RoutesSupport

  C = RoutesSupport::Consumer
  WAY_OUT = "Add config(partitions: …, replication_factor: …) to its route, declare it with declaratives.draw, or set " \
            "config.strict_declarative_topics = false"

  def strict(&block) = problems(settings { |config| config.strict_declarative_topics = true }, &block)

  test "[strict declaratives] undeclared DLQ topic stops boot" do
    found = strict do
      topic(:orders) do
        consumer C
        config(partitions: 3)
        dead_letter_queue(topic: "orders.dead")
      end
    end

    assert_equal ["routes: topic orders, consumer_group app: has the dead letter topic orders.dead, which isn't declared, as " \
      "config.strict_declarative_topics requires. Add its route: topic(:\"orders.dead\") { active false; " \
      "config(partitions: 1) }"], found
  end

  test "inactive topics must be declared too, patterns need not, and each topic is reported once" do
    found = strict do
      topic(:orders) { active false }
      pattern(/audit/) { consumer C }
      consumer_group(:other) { topic(:orders) { consumer C } }
    end

    assert_equal ["routes: topic orders, consumer_group app: isn't declared, which config.strict_declarative_topics requires. " \
      "#{WAY_OUT}"], found
  end

  test "a declaration in `defaults` or another group counts; skipped dead letters and strategies need none" do
    assert_empty(strict do
      topic(:orders) do
        consumer C
        config(partitions: 3)
        dead_letter_queue(topic: "dead")
      end
      topic(:dead) do
        active false
        config(partitions: 1)
      end
      topic(:clicks) do
        consumer C
        config(partitions: 1)
        dead_letter_queue(topic: false)
      end
      consumer_group(:other) { topic(:orders) { consumer C } }
    end)
    assert_empty(strict do
      topic(:orders) { consumer C }
      defaults { config(partitions: 2) }
    end)
  end

  test "retry topics are declared with their topic, their dead letter topic isn't" do
    found = strict do
      topic(:orders) do
        consumer C
        config(partitions: 3)
        retry_topics(delays: [5_000], finally: "orders-dead")
      end
    end

    assert_equal 1, found.size
    assert_match(/\Aroutes: topic orders, .* has the dead letter topic orders-dead, which isn't declared/, found.first)
  end

  test "without the setting no declarations are required" do
    assert_empty(problems { topic(:orders) { consumer C } })
  end
end
