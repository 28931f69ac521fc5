# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  class AdminUsersTest < TestCase
    # A cluster with one user, who has a password of each mechanism. Like a broker, it refuses to change a user twice at once.
    class Client
      attr_reader :left

      def initialize(refused: nil, error: nil)
        @left = {1 => 8_192, 2 => 4_096}
        @refused, @error = refused, error
      end

      def describe_users(names, _timeout_ms) = names.map { |name| [name, 0, nil, @left.to_a] }

      def alter_users(rows, _timeout_ms)
        return [[rows.first.first, 92, "altered twice"]] if rows.size > 1

        rows.map do |name, mechanism, *|
          raise @error if @error && mechanism == @refused
          next [name, 31, "Cluster authorization failed."] if mechanism == @refused

          @left.delete(mechanism)
          [name, 0, nil]
        end
      end
    end

    test "each password of a user is deleted by a request of its own" do
      users(client = Client.new).delete("billing")

      assert_empty client.left
    end

    test "with a mechanism, only its password is deleted" do
      users(client = Client.new).delete("billing", mechanism: "SCRAM-SHA-256")

      assert_equal [2], client.left.keys
    end

    test "if the second deletion fails, the error lists what is deleted" do
      error = assert_raises(KafkaError) { users(Client.new(refused: 2)).delete("billing") }

      assert_equal ["user billing: SCRAM-SHA-256 is deleted; SCRAM-SHA-512: Cluster authorization failed. " \
        "(cluster_authorization_failed)", :cluster_authorization_failed], [error.message, error.code]
    end

    test "also if the second request has no answer" do
      lost = Native.error_for(Native.error_number(:transport), "127.0.0.1:1", "connection reset")
      error = assert_raises(KafkaError) { users(Client.new(refused: 2, error: lost)).delete("billing") }

      assert_equal "user billing: SCRAM-SHA-256 is deleted; SCRAM-SHA-512: 127.0.0.1:1: connection reset (transport)",
        error.message
    end

    test "an error of the first deletion is raised as it is" do
      error = assert_raises(KafkaError) { users(Client.new(refused: 1)).delete("billing") }

      assert_equal "user billing: Cluster authorization failed. (cluster_authorization_failed)", error.message
    end

    test "a name with a zero byte is refused, and nothing is sent" do
      requests = users(client = Client.new)
      [-> { requests.delete("a\0b") }, -> { requests.describe(["a\0b"]) },
        -> { requests.set_password("a\0b", "secret", mechanism: "SCRAM-SHA-512", iterations: 8_192) }].each do |request|
        assert_equal "user: \"a\\u0000b\" contains a zero byte", assert_raises(InvalidRequestError, &request).message
      end
      assert_equal 2, client.left.size
    end

    private

    def users(client)
      connection = Struct.new(:native, :servers).new(client, "127.0.0.1:1")
      connection.define_singleton_method(:native) { |_timeout_ms| client }
      Admin::Users.requests(Admin::Session.new(connection, timeout_ms: 1_000))
    end
  end
end
