# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  class AdminOffsetsTest < TestCase
    # Answers list_offsets with the next error number per call, then with 0.
    class Client
      attr_reader :calls

      def initialize(*numbers)
        @numbers = numbers
        @calls = 0
      end

      def list_offsets(wanted, *)
        @calls += 1
        number = @numbers.shift || 0
        wanted.map { |topic, partition, _spec| [topic, partition, 7, -1, nil, number] }
      end
    end

    ELECTION = %i[not_leader_for_partition leader_not_available unknown_leader_epoch fenced_leader_epoch].freeze

    test "a request for a partition whose leader is being elected is retried" do
      client = Client.new(*ELECTION.map { |code| Native.error_number(code) })

      assert_equal({["orders", 0] => 7}, offsets(client).ends([["orders", 0]], :latest))
      assert_equal 5, client.calls
    end

    test "any other error is raised at once, with the partition" do
      client = Client.new(Native.error_number(:topic_authorization_failed))
      error = assert_raises(KafkaError) { offsets(client).ends([["orders", 0]], :latest) }

      assert_includes error.message, "orders/0"
      assert_equal 1, client.calls
    end

    private

    def offsets(client)
      session = Admin::Session.new(Admin::Connection.new({"bootstrap.servers" => "127.0.0.1:1"}), timeout_ms: 5_000, pause_ms: 1)
      session.define_singleton_method(:native) { client }
      Admin::Offsets.new(session)
    end
  end
end
