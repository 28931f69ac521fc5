# frozen_string_literal: true

require "test_helper"
require "timeout"
require "penstock/testing/cluster"

# From the order to the mail, with an embedded broker. The application runs once per process, so this is one test.
class FlowTest < ActiveSupport::TestCase
  # The consumers' threads have connections of their own.
  self.use_transactional_tests = false

  MODELS = [Receipt, Payment, Order, Event, JobRun, SentMail].freeze

  setup do
    @cluster = Penstock::Testing::Cluster.start(topics: {"orders" => 3, "mailers" => 3})
    PenstockApp.setup { |config| config.kafka = @cluster.kafka }
    @server = Thread.new { PenstockApp.run!(traps: false) }
  end

  teardown do
    PenstockApp.stop!
    assert_equal 0, @server.value
    @cluster.stop
    MODELS.each(&:delete_all)
  end

  # Rails caches queries during a test, but the rows are written by other threads.
  def wait_until(seconds = 120)
    ActiveRecord::Base.uncached { Timeout.timeout(seconds) { sleep(0.05) until yield } }
  end

  test "orders are charged and mailed once, those of a customer in order, although a record comes twice" do
    orders = Array.new(12) { |number| Order.place(customer: "customer-#{number % 4}", total: 100 + number) }
    wait_until { SentMail.count == 12 }
    first = orders.first
    Penstock.producer.produce_sync(topic: "orders", key: first.customer, payload: first.to_json)
    wait_until { Event.count == 13 }

    assert_equal orders.sum(&:total), Payment.sum(:amount)
    assert_equal orders.map(&:id), Receipt.order(:order_id).pluck(:order_id)
    Event.where(outcome: "charged").order(:id).group_by(&:key).each_value do |events|
      assert_equal events.map(&:order_id).sort, events.map(&:order_id)
    end
    assert_equal [first.id, "duplicate"], Event.last.values_at(:order_id, :outcome)
    assert_equal 12, JobRun.count
  end
end
