# frozen_string_literal: true

require "test_helper"
require "socket"
require "penstock/native"
require "penstock/native/conf"

module Penstock
  module Native
    class ConfTest < TestCase
      NOT_SETTABLE = %w[builtin.features ssl.ca.certificate.stores].freeze # the second is for Windows

      test "a valid configuration has no problems" do
        assert_empty Conf.validate({"bootstrap.servers" => "localhost:1", "group.id" => "orders"}, :consumer)
      end

      test "all refused properties are reported at once, with librdkafka's own text" do
        problems = Conf.validate({"bogus" => "1", "linger.ms" => "soon", "acks" => "all"}, :producer)

        assert_equal %w[bogus linger.ms], problems.map(&:first)
        assert_match(/No such configuration property/, problems[0].last)
      end

      test "[setup validation] all missing files are reported before anything connects" do
        problems = Conf.validate(
          {"security.protocol" => "ssl", "ssl.ca.location" => "/nowhere/ca", "ssl.certificate.location" => "/nowhere/crt"},
          :consumer
        )

        assert_equal %w[ssl.ca.location ssl.certificate.location], problems.map(&:first)
      end

      test "limits that contradict each other are reported once" do
        problems = Conf.validate({"session.timeout.ms" => "600000", "max.poll.interval.ms" => "1000"}, :consumer)

        assert_equal [["max.poll.interval.ms", "`max.poll.interval.ms`must be >= `session.timeout.ms`"]], problems
      end

      test "a problem that librdkafka doesn't attribute to a property has none" do
        problems = Conf.validate({"security.protocol" => "sasl_plaintext", "sasl.mechanisms" => "PLAIN"}, :admin)

        assert_equal [[nil, "sasl.username and sasl.password must be set"]], problems
      end

      test "a problem of an alias has the name that the user wrote" do
        long = "max.in.flight.requests.per.connection"
        problems = %W[max.in.flight #{long}].map do |name|
          Conf.validate({"enable.idempotence" => "true", name => "100"}, :producer).map(&:first)
        end

        assert_equal [["max.in.flight"], [long]], problems
      end

      test "validating opens nothing: no connection, and no thread remains" do
        server = TCPServer.new("127.0.0.1", 0)
        Conf.validate({"bootstrap.servers" => "127.0.0.1:#{server.addr[1]}", "group.id" => "x"}, :consumer)

        assert_nil server.wait_readable(0.2)
        assert_equal 0, Native.thread_count
      ensure
        server&.close
      end

      test "keys and values must be Strings without NUL bytes" do
        assert_raises(TypeError) { Conf.validate({"linger.ms" => 5}, :producer) }
        assert_raises(ArgumentError) { Conf.validate({"client.id" => "a\0b"}, :producer) }
      end

      test "the table has type, default, range, scope and alias of each property" do
        linger = Conf.properties.fetch("linger.ms")

        assert_equal [:float, "5", "0 .. 900000", :producer, :global],
          [linger.type, linger.default, linger.range, linger.scope, linger.level]
        assert_equal "queue.buffering.max.ms", linger.alias_of
        assert_equal :consumer, Conf.properties.fetch("group.id").scope
        assert_equal :both, Conf.properties.fetch("bootstrap.servers").scope
        assert_equal :topic, Conf.properties.fetch("acks").level
        assert_nil Conf.properties.fetch("ssl.ca.location").default
        assert_equal :enum, Conf.properties.fetch("security.protocol").type
      end

      test "librdkafka accepts every property of the table with its default" do
        refused = Conf.properties.values.reject { |property| property.type == :callback || property.default.nil? }
          .filter_map { |property| [property.name, Conf.check(property.name, property.default)] }
          .reject { |name, message| message.nil? || NOT_SETTABLE.include?(name) }

        assert_operator Conf.properties.size, :>, 180
        assert_empty refused
      end

      test "librdkafka's errors get the class that shows what can be done" do
        timed_out = Native.kafka_error(-185, "_TIMED_OUT", "too late", 0)
        fatal = Native.kafka_error(-150, "_FATAL", "gone", ERROR_FATAL)
        abort = Native.kafka_error(48, "INVALID_TXN_STATE", "abort", ERROR_ABORTABLE)

        assert_instance_of RetriableError, timed_out
        assert_equal :timed_out, timed_out.code
        assert_instance_of FatalError, fatal
        assert_predicate abort, :abortable?
        refute_predicate abort, :retriable?
      end

      test "every name in the list of retriable errors is known to librdkafka" do
        assert_empty RETRIABLE_ERRORS - Native.error_numbers.keys
      end
    end
  end
end
