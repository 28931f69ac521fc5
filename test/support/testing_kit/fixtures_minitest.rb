# frozen_string_literal: true

# The kit inside of transactional fixtures, as in Rails: every test is rolled back. Run by test/process/testing_kit_test.rb.

require "active_support"
require "active_support/test_case"
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

class OrdersConsumer < Penstock::BaseConsumer
  def consume
    each do |message|
      Invoice.transaction { Invoice.create!(total: message.payload["total"]) }
      produce_async(topic: "invoices", payload: Invoice.count.to_s)
    end
  end
end

class FixturesApp < Penstock::App
  setup do |config|
    config.client_id = config.group_id = "fixtures"
    config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    config.logger = Logger.new(File::NULL)
  end
  routes.draw { topic(:orders) { consumer OrdersConsumer } }
end

class FixturesTest < ActiveSupport::TestCase
  include ActiveRecord::TestFixtures
  include Penstock::Testing::Minitest

  self.use_transactional_tests = true

  setup { @consumer = penstock.consumer_for(:orders) }

  3.times do |number|
    test "the consumer sees and writes rows of the test's transaction: #{number}" do
      Invoice.create!(total: 1)
      penstock.produce({total: 12}.to_json)
      @consumer.consume

      assert_equal [1, 12], Invoice.order(:id).pluck(:total)
      assert_produced "invoices", payload: 2
    end
  end

  teardown { assert_equal 2, Invoice.count }
end

Minitest.after_run { puts "rows left: #{Invoice.count}" }
