# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  # Requests about many things, of which some fail.
  class AdminSessionTest < TestCase
    # Answers a request about groups with the next error numbers of each.
    class Client
      attr_reader :asked

      def initialize(numbers)
        @numbers = numbers
        @asked = []
      end

      def delete_groups(names, _timeout_ms)
        @asked << names
        names.map { |name| [name, @numbers[name].shift || 0, "said"] }
      end

      def create_acls(rows, _timeout_ms)
        @asked << rows
        rows.map { |row| [@numbers[row].shift || 0, "said"] }
      end
    end

    test "only what may succeed later is sent again; what was done isn't" do
      client = Client.new({"done" => [], "moved" => number(:not_coordinator, :coordinator_load_in_progress),
"busy" => number(:non_empty_group)})
      errors = session(client).settle(:delete_groups, %w[done moved busy].to_h { |name|
        [name, name]
      }) { |name, number, message| [name, number, name, message] }

      assert_equal [%w[done moved busy], %w[moved], %w[moved]], client.asked
      assert_equal [nil, nil, :non_empty_group], errors.values_at("done", "moved", "busy").map { |error| error&.code }
      assert_equal "busy: said (non_empty_group)", errors["busy"].message
    end

    test "answers without names have the order of the request, also of one that is sent again" do
      client = Client.new({1 => [], 2 => number(:not_coordinator, :security_disabled), 3 => number(:not_coordinator)})
      errors = session(client).settle(:create_acls, {a: 1, b: 2, c: 3}, ordered: true) { |(number, message), key|
        [key, number, key, message]
      }

      assert_equal [[1, 2, 3], [2, 3]], client.asked
      assert_equal({a: nil, b: :security_disabled, c: nil}, errors.transform_values { |error| error&.code })
    end

    test "an error that lasts is returned when the time is up, with the others" do
      client = Client.new(Hash.new { |all, name| all[name] = Array.new(10_000, *number(:not_coordinator)) })
      errors = session(client, timeout_ms: 30).settle(:delete_groups, {"a" => "a"}) { |name, number, message|
        [name, number, name, message]
      }

      assert_equal :not_coordinator, errors["a"].code
      assert_operator client.asked.size, :>, 1
    end

    test "where nobody answers the last try, the error is that of the try before, and what was done stays done" do
      tries = [:not_coordinator, :timed_out]
      client = Client.new({"done" => [], "moved" => number(:not_coordinator), "later" => []})
      client.define_singleton_method(:list_groups) { |_limit| raise Native.error_for(Native.error_number(tries.shift), "it") }
      client.define_singleton_method(:delete_groups) do |names, limit|
        raise Native.error_for(Native.error_number(:timed_out), "late") unless @asked.empty?

        super(names, limit)
      end
      errors = deleted(client)

      assert_equal [nil, :not_coordinator], errors.values_at("done", "moved").map { |error| error&.code }
      assert_equal :not_coordinator, assert_raises(RetriableError) { session(client).call(:list_groups) }.code
    end

    test "a later try that fails as a whole fails only what was pending" do
      client = Client.new({"done" => [], "moved" => number(:not_coordinator), "later" => number(:not_coordinator)})
      client.define_singleton_method(:delete_groups) do |names, limit|
        raise Native.error_for(Native.error_number(:group_authorization_failed), "refused") unless @asked.empty?

        super(names, limit)
      end
      errors = deleted(client)

      assert_equal [nil, :group_authorization_failed], errors.values_at("done", "moved").map { |error| error&.code }
      raised = assert_raises(KafkaError) { Admin::Failures.raise_any(errors) }
      assert_equal [%w[moved later], 2], [raised.failures.keys, raised.message.scan("refused").size]
    end

    test "one exception lists all that failed, with the class and the code of the first" do
      errors = {"a" => Native.error_for(16, "group a"), "b" => nil, "c" => Native.error_for(68, "group c")}
      error = assert_raises(RetriableError) { Admin::Failures.raise_any(errors) }

      assert_equal [:not_coordinator, %w[a c]], [error.code, error.failures.keys]
      assert_match(/\Agroup a: .*; group c: /, error.message)
      assert_nil Admin::Failures.raise_any({"a" => nil})
    end

    test "[Admin offline] no answer is an error that names the cluster and the limit; one with a reason keeps it" do
      client = Client.new({"a" => number(:timed_out)})
      client.define_singleton_method(:list_groups) { |_limit| raise Native.error_for(-185, "waiting for a broker", "Timed out") }
      client.define_singleton_method(:metadata) { |*| raise Native.error_for(-195, "127.0.0.1:1", "Connection refused") }
      client.define_singleton_method(:describe_acls) { |*|
        raise Native.kafka_error(31, "CLUSTER_AUTHORIZATION_FAILED", Native.error_text(31), 0)
      }
      row = session(client).settle(:delete_groups, {"a" => "a"}) { |name, number, _message|
        [name, number, "group #{name}", "late"]
      }

      assert_equal "group a: 127.0.0.1:1: no answer within 5000 ms (late) (timed_out)", row["a"].message
      assert_equal "127.0.0.1:1: no answer within 70 ms (waiting for a broker: Timed out) (timed_out)",
        assert_raises(RetriableError) { session(client, timeout_ms: 70).call(:list_groups) }.message
      assert_equal "127.0.0.1:1: Connection refused (transport)",
        assert_raises(RetriableError) { session(client).call(:metadata, nil) }.message
      assert_equal "Broker: Cluster authorization failed (cluster_authorization_failed)",
        assert_raises(KafkaError) { session(client).call(:describe_acls, nil) }.message
    end

    test "times are milliseconds: anything else is refused when the object is made" do
      kafka = {"bootstrap.servers": "127.0.0.1:1"}
      error = assert_raises(ArgumentError) { Admin.new(kafka: kafka, timeout_ms: "5", pause_ms: -1) }
      takes = "takes milliseconds, an Integer of at least 0, not"
      assert_equal "timeout_ms: #{takes} \"5\"; pause_ms: #{takes} -1", error.message
      assert_raises(ArgumentError) { session(Object.new).with(timeout_ms: 1.5) }
    end

    test "a broker's text about a missing right is shown without its request object" do
      text = "Request Request(processor=5, session=org.Session@b3, envelope=Some(Request(processor=2))) needs ALTER permission."

      assert_equal "it needs ALTER permission (cluster_authorization_failed)",
        Native.kafka_error(31, "CLUSTER_AUTHORIZATION_FAILED", text, 0).message
      assert_equal "the right: it needs ALTER permission (cluster_authorization_failed)",
        Native.error_for(31, "the right", text).message
    end

    test "another time limit is another session over the same connection" do
      one = session(Object.new)

      assert_equal [5, 5_000], [one.with(timeout_ms: 5).timeout_ms, one.timeout_ms]
      assert_same one.connection, one.with(timeout_ms: 5).connection
    end

    private

    # Outcome of deleting the groups "done", "moved" and "later".
    def deleted(client)
      names = %w[done moved later].to_h { |name| [name, name] }
      session(client).settle(:delete_groups, names) { |name, number, _| [name, number, name] }
    end

    def number(*codes) = codes.map { |code| Native.error_number(code) }

    def session(client, timeout_ms: 5_000)
      connection = Admin::Connection.new({"bootstrap.servers" => "127.0.0.1:1"})
      connection.define_singleton_method(:native) { |_limit_ms| client }
      Admin::Session.new(connection, timeout_ms: timeout_ms, pause_ms: 1)
    end
  end
end
