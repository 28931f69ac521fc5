# frozen_string_literal: true

require "test_helper"
require "penstock/application"

module Penstock
  class ApplicationExtensionTest < TestCase
    # Records the calls.
    class Framework < Application::Extension
      attr_accessor :found, :warned
      attr_reader :seen

      def initialize
        super
        @seen = []
        @found = []
        @warned = []
      end

      def set_up(application)
        application.setup do |config|
          config.client_id = "default"
          config.group_id = "default"
        end
        application.middleware { around_user_code { |_topic, _action, &code| code.call } }
      end

      def subscribe(monitor) = monitor.subscribe("error.occurred") { |event| @seen << event[:error].message }
      def problems(_application) = @found
      def warnings(_application) = @warned
      def before_run(application) = @seen << application.name
    end

    def setup
      super
      @framework = Framework.new
      Application.extensions << @framework
      @log = StringIO.new
      @application = Application.new("shop") do |config|
        config.group_id = "own"
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.logger = Logger.new(@log)
      end
    end

    def teardown
      Application.extensions.delete(@framework)
      super
    end

    # Nothing is routed: it ends before it connects.
    def run_it = assert_raises(ConfigurationError) { @application.run! }

    test "its defaults are recorded before the application's setup, which takes precedence" do
      assert_equal %w[default own], [@application.config.client_id, @application.config.group_id]
    end

    test "its wrapper is around those of the application" do
      seen = []
      @application.middleware { around_user_code { |_topic, action, &code| seen << action && code.call } }
      outer, = @application.middleware.wrappers
      outer.define_singleton_method(:call) { |_topic, _action, &code| seen << :outer && code.call }
      @application.middleware.to_stack.wrapper.call(:topic, :consume) { seen << :code }

      assert_equal %i[outer consume code], seen
    end

    test "its problems are reported with those of the settings" do
      @framework.found = [Problem.new("rails", "is too old", "Update it")]
      @application.setup { |config| config.concurrency = 0 }
      error = assert_raises(ConfigurationError) { @application.validate! }

      assert_equal ["config.concurrency", "rails"], error.problems.map(&:path).sort
    end

    test "before a run it is called, and its warnings are logged" do
      @framework.warned = [Problem.new("pool", "is small")]
      run_it

      assert_equal %w[shop], @framework.seen
      assert_match(/WARN.*pool: is small/, @log.string)
    end

    test "it receives errors, which are logged as well" do
      run_it
      @application.monitor.instrument("error.occurred", {type: "librdkafka.error", error: IOError.new("of the disk")})

      assert_includes @framework.seen, "of the disk"
      assert_includes @log.string, "of the disk"
    end

    test "errors aren't logged twice if the application listens to them itself" do
      @application.monitor.subscribe("error.occurred") {}
      run_it
      @application.monitor.instrument("error.occurred", {type: "librdkafka.error", error: IOError.new("of the disk")})

      refute_includes @log.string, "of the disk"
    end
  end
end
