# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/monitors/app_signal"
require "support/ruby_program"

module Penstock
  # The gem's own code, in a process of its own because it changes the process. Instead of its native extension, which sends to
  # an agent, there is an object that keeps what it is given.
  class AppSignalTest < TestCase
    BEGINNING = <<~RUBY
      require "json"
      require "logger"
      require "penstock"
      require "appsignal"
      require "penstock/monitors/app_signal"

      CALLS = []
      class Handle
        def initialize(id, namespace) = CALLS << ["begin", id, namespace]
        def finish(*) = (CALLS << ["finish"]) && true
        def method_missing(name, *arguments) = (CALLS << [name.to_s, *arguments.map { |one| one.is_a?(Numeric) ? one : one.to_s }]; nil)
        def respond_to_missing?(*) = true
        def duplicate(id) = Handle.new(id, "duplicate")
      end
      module Appsignal
        class Extension
          class << self
            def start_transaction(id, namespace, _) = Handle.new(id, namespace)
            %i[increment_counter add_distribution_value set_gauge stop start].each do |name|
              define_method(name) { |*arguments| CALLS << [name.to_s, *arguments.map { |one| one.is_a?(Float) ? one : one.to_s }] }
            end
          end
        end
        module Utils
          Data.singleton_class.prepend(Module.new { def generate(value) = JSON.generate(value) })
        end
      end
      Appsignal.extension_loaded = true
      Appsignal.configure(:test) do |config|
        config.push_api_key = "key"
        config.active = true
        config.log = "stdout"
        config.log_level = "error"
      end
      Appsignal.start
      CALLS.clear

      class OrdersConsumer < Penstock::BaseConsumer
        def consume = nil
      end
      class ShopApp < Penstock::App
        setup do |config|
          config.logger = Logger.new(nil)
          config.group_id = "shop"
        end
        routes.draw { topic(:orders) { consumer OrdersConsumer } }
      end
      TOPIC = ShopApp.application.routes.topics.first
      WRAPPER = -> { ShopApp.application.middleware.wrappers.last }
      def failed(error, **more)
        ShopApp.monitor.instrument("error.occurred", {type: "consumer.consume.error", error: error, topic: "orders", partition: 3,
          offset: 7, attempt: 1, next: :retry, caller: OrdersConsumer.new, **more})
      end
    RUBY

    def run_ruby(code, ending = "")
      output, result = TestSupport::RubyProgram.run(BEGINNING + code + "\nputs JSON.generate(CALLS)\n" + ending)
      assert result.success?, "#{result}: #{output}"
      JSON.parse(output.lines.last)
    end

    def of(calls, name) = calls.select { |first, *| first == name }.map { |_first, *rest| rest }

    test "[datadog/appsignal] AppSignal has counters, distributions and gauges with tags" do
      calls = run_ruby(<<~RUBY)
        Penstock::Monitors::AppSignal.install(ShopApp)
        ShopApp.monitor.instrument("consumer.consumed", {topic: "orders", partition: 0, first_offset: 0, last_offset: 2,
          messages_count: 3, attempt: 1, time: 30})
        partitions = {"0" => {"consumer_lag" => 5}}
        ShopApp.monitor.instrument("statistics.emitted", {statistics: {"topics" => {"orders" => {"partitions" => partitions}}},
          subscription_group_id: "sg", consumer_group_id: "shop"})
        ShopApp.monitor.instrument("app.terminated", {server_id: "s"})
      RUBY

      assert_equal [["penstock_consumer_messages_total", 3.0, '{"topic":"orders"}']], of(calls, "increment_counter")
      assert_equal [["penstock_consumer_consume_duration_seconds", 0.03, '{"topic":"orders"}'],
        ["penstock_consumer_batch_size_messages", 3.0, '{"topic":"orders"}']], of(calls, "add_distribution_value")
      assert_includes of(calls, "set_gauge"),
        ["penstock_consumer_lag_messages", 5.0, '{"group":"shop","topic":"orders","partition":"0"}']
      assert_equal 1, of(calls, "stop").size, "a server's end"
    end

    test "[datadog/appsignal] each call is a transaction of AppSignal, named by consumer and method, with topic and group" do
      calls = run_ruby(<<~RUBY)
        Penstock::Monitors::AppSignal.install(ShopApp, namespace: "kafka", metrics: false)
        CALLS << ["returned", WRAPPER.call.call(TOPIC, :consume) { 7 }]
        WRAPPER.call.call(TOPIC, :failure) { 8 }
        WRAPPER.call.call(TOPIC, :revoked) { Appsignal.set_action("ChargeJob#perform") }
      RUBY

      assert_equal %w[kafka kafka], of(calls, "begin").map(&:last)
      assert_equal [["OrdersConsumer#consume"], ["ChargeJob#perform"]], of(calls, "set_action")
      tags = of(calls, "set_sample_data").filter_map { |name, value| value if name == "tags" }
      assert_equal ['{"topic":"orders","consumer_group":"shop"}'] * 2, tags
      assert_equal [2, 2], %w[finish complete].map { |name| of(calls, name).size }
      assert_equal [[7]], of(calls, "returned")
    end

    test "[datadog/appsignal] the error of a call belongs to its transaction, another one has its own" do
      calls = run_ruby(<<~RUBY)
        Penstock::Monitors::AppSignal.install(ShopApp, metrics: false)
        begin
          WRAPPER.call.call(TOPIC, :consume) do
            raise IOError, "no database"
          rescue IOError => error
            failed(error)
            raise
          end
        rescue IOError
          CALLS << ["raised"]
        end
        failed(IOError.new("again"), attempt: 2)
        failed(KeyError.new("tick"), type: "consumer.tick.error", attempt: nil)
        ShopApp.monitor.instrument("error.occurred", {type: "worker.process.error", error: EncodingError.new("worker")})
      RUBY

      assert_equal [%w[IOError no\ database], %w[KeyError tick], %w[EncodingError worker]],
        of(calls, "set_error").map { |error| error.first(2) }
      assert_equal %w[OrdersConsumer#consume OrdersConsumer#tick worker.process.error], of(calls, "set_action").flatten
      assert_equal 3, of(calls, "begin").size
      first = of(calls, "set_sample_data").find { |name, _| name == "tags" }.last
      assert_equal({"topic" => "orders", "partition" => 3, "offset" => 7, "attempt" => 1, "type" => "consumer.consume.error",
                    "consumer" => "OrdersConsumer", "consumer_group" => "shop"}, JSON.parse(first))
      assert_equal [[]], of(calls, "raised")
    end

    test "[datadog/appsignal] 10,000 classes of errors make 101 series of AppSignal" do
      calls = run_ruby(<<~RUBY)
        Penstock::Monitors::AppSignal.install(ShopApp, errors: false, transactions: false)
        10_000.times do |number|
          failed(Class.new(StandardError) { define_singleton_method(:name) { "Error\#{number}" } }.new)
        end
      RUBY

      classes = of(calls, "increment_counter").map { |_name, _value, tags| JSON.parse(tags)["error"] }
      assert_equal [10_000, 101, "other"], [classes.size, classes.uniq.size, classes.last]
      assert_empty of(calls, "begin")
    end

    test "[error trackers] AppSignal receives errors without the exporter, too" do
      calls = run_ruby(<<~RUBY)
        require "penstock/monitors/error_tracker"
        ShopApp.monitor.subscribe(Penstock::Monitors::ErrorTracker.new(:appsignal))
        failed(IOError.new("no database"))
      RUBY

      assert_equal [%w[IOError no\ database]], of(calls, "set_error").map { |error| error.first(2) }
      assert_equal [["background_job"]], of(calls, "set_namespace")
      assert_equal [["OrdersConsumer#consume"]], of(calls, "set_action")
    end

    test "a node opens its own connection to the agent; unknown options are named" do
      calls = run_ruby(<<~RUBY)
        Penstock::Monitors::AppSignal.install(ShopApp)
        ShopApp.monitor.instrument("swarm.node.after_fork", {node: Struct.new(:id).new(2), pid: 1})
        begin
          Penstock::Monitors::AppSignal.install(ShopApp, error: true, report: :all)
        rescue Penstock::ConfigurationError => error
          CALLS << ["refused", *error.problems.map(&:to_s)]
        end
      RUBY

      assert_equal 1, of(calls, "start").size
      assert_equal [["AppSignal: there is no option error. Did you mean errors?",
        "AppSignal report: must be :first_and_last or :each, is :all"]], of(calls, "refused")
    end
  end
end
