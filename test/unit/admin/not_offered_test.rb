# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  # Requests that librdkafka doesn't offer.
  class AdminNotOfferedTest < TestCase
    test "what Kafka's client can do and librdkafka can't raises with Kafka's script, on the class and on an object" do
      admin = Admin.new(kafka: {"bootstrap.servers": "127.0.0.1:1"})
      Admin::NotOffered::SCRIPTS.each do |name, script|
        [Admin, admin].each do |asked|
          error = assert_raises(NoMethodError) { asked.public_send(name, "x", y: 1) }

          assert_equal "Penstock::Admin has no #{name}: librdkafka doesn't offer it. Use #{script}",
            error.message.lines.first.chomp
          assert_match(/kafka-[a-z-]+\.sh/, error.message)
          refute_respond_to asked, name
        end
      end
    end
  end
end
