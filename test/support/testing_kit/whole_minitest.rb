# frozen_string_literal: true

# Whole applications inside of transactional fixtures, as in Rails: every test is rolled back, and Rails' time helpers move the
# time. Run by test/process/testing_kit_whole_test.rb.

require "active_support"
require "active_support/test_case"
require "active_support/testing/time_helpers"
require "active_record"
require "active_record/fixtures"
require "json"
require "logger"
require "minitest/autorun"
require "penstock"
require "penstock/testing/minitest"

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ENV.fetch("DATABASE"))
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:invoices, force: true) { |table| table.integer :total } }

class Invoice < ActiveRecord::Base
end

# Fails once in the middle of a database transaction, for an order of 13; its process dies for one of 66.
class OrdersConsumer < Penstock::BaseConsumer
  class << self
    attr_accessor :kit
  end

  def consume
    each do |message|
      total = message.payload["total"]
      Invoice.transaction(requires_new: true) do
        Invoice.create!(total: total)
        raise "unlucky" if total == 13 && attempt == 1
        self.class.kit.crash if total == 66 && Invoice.where(total: 1).none?
      end
    end
  end
end

class RemindersConsumer < Penstock::BaseConsumer
  def consume = each { Invoice.create!(total: 0) }
end

class WholeApp < Penstock::App
  setup do |config|
    config.client_id = config.group_id = "whole"
    config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    config.logger = Logger.new(File::NULL)
  end
  routes.draw do
    topic(:orders) do
      consumer OrdersConsumer
      max_messages 1
    end
    topic(:reminders) do
      consumer RemindersConsumer
      delay_by 600_000
    end
  end
end

class WholeTest < ActiveSupport::TestCase
  include ActiveRecord::TestFixtures
  include ActiveSupport::Testing::TimeHelpers
  include Penstock::Testing::Minitest

  self.use_transactional_tests = true

  setup { OrdersConsumer.kit = penstock }

  test "consumers see and write rows of the test's transaction, and a failed attempt leaves none" do
    Invoice.create!(total: 1)
    [12, 13].each { |total| penstock.produce({total: total}.to_json, topic: :orders) }

    assert_retried penstock.consume_all, :orders, offset: 1, attempts: 2
    assert_equal [1, 12, 13], Invoice.order(:id).pluck(:total)
  end

  test "a crash rolls back the database transaction around it" do
    penstock.produce({total: 66}.to_json, topic: :orders)

    assert_predicate penstock.consume_all, :crashed?
    assert_equal 0, Invoice.count
    Invoice.create!(total: 1)
    assert_redelivered penstock.consume_all, :orders, offset: 0
    assert_equal [1, 66], Invoice.order(:id).pluck(:total)
  end

  test "Rails' travel moves the time of delays" do
    freeze_time
    penstock.produce("{}", topic: :reminders)
    assert_waiting penstock.consume_all(within: 60), :reminders, reason: :delay
    travel 10.minutes
    assert_consumed penstock.consume_all(within: 0), :reminders, offset: 0
    assert_equal [0], Invoice.pluck(:total)
  end

  test "penstock.travel takes a duration" do
    penstock.produce("{}", topic: :reminders)
    assert_consumed penstock.travel(11.minutes), :reminders, offset: 0
  end
end

Minitest.after_run { puts "rows left: #{Invoice.count}" }
