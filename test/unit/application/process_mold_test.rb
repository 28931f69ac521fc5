# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "penstock"
require "penstock/execution/processes/child_context"

module Penstock
  # Both sides of a spawned mold, without spawning a process.
  class ProcessMoldTest < TestCase
    class Consumer < Penstock::BaseConsumer
      def consume = nil
    end

    class Other < Consumer; end

    def application(name = "orders", type = Consumer, where = :processes)
      Penstock::Application.new("test") do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.group_id = "g"
        config.logger = Logger.new(nil)
      end.tap { |one| one.routing.draw { topic(name) { [consumer(type), run_on(where)] } } }
    end

    def refused(boot_file: nil, env: {}, &block)
      before = ENV.to_h.slice("PENSTOCK_BOOT_FILE", "PENSTOCK_ROOT_DIR")
      Dir.mktmpdir do |dir|
        ENV.update({"PENSTOCK_ROOT_DIR" => dir, **env})
        assert_raises(ConfigurationError) { application.spawned_mold(boot_file: boot_file) }.message.gsub(dir, "DIR")
      end
    ensure
      %w[PENSTOCK_BOOT_FILE PENSTOCK_ROOT_DIR].each { |name| ENV[name] = before[name] }
    end

    def order(application, topics: ["g_orders"], events: [])
      {routes: application.send(:process_mold).description, topics: topics, events: events}
    end

    test "no mold is spawned, and no boot file searched, if no route runs on processes" do
      assert_nil application("orders", Consumer, :threads).spawned_mold(boot_file: "/nowhere.rb")
    end

    test "without a boot file the error names every place that was searched, and what to do" do
      said = refused

      assert_includes said, "DIR/penstock.rb"
      assert_includes said, "DIR/config/penstock.rb"
      assert_includes said, "set PENSTOCK_BOOT_FILE to use one elsewhere"
      assert_includes said, 'Penstock::Embedded.start(boot_file: "…")'
    end

    test "a given file takes precedence over the variable, and is named when it doesn't exist" do
      said = refused(boot_file: "app/boot.rb", env: {"PENSTOCK_BOOT_FILE" => "other.rb"})

      assert_includes said, "DIR/app/boot.rb"
      refute_includes said, "other.rb"
      assert_includes refused(env: {"PENSTOCK_BOOT_FILE" => "other.rb"}), "DIR/other.rb"
    end

    test "a boot file without config/environment.rb is reported for an application that boots itself" do
      assert_includes refused(env: {"PENSTOCK_BOOT_FILE" => "false"}), "PENSTOCK_BOOT_FILE is false, and there is no"
    end

    test "the mold's application gives its own topics in the requested order, and subscribes to the same events" do
      there = application
      there.routing.draw { topic("threaded") { consumer(Consumer) } }
      context = there.mold_context(order(there, events: %w[error.occurred of.somebody]))

      assert_equal ["g_orders"], context.topics.map(&:id)
      assert context.monitor.subscribed?("error.occurred")
      refute context.monitor.subscribed?("app.running")
    end

    test "routes that differ are described, from both sides" do
      error = assert_raises(ConfigurationError) { application("orders", Other).mold_context(order(application)) }
      texts = error.problems.map(&:message)

      assert_equal ["the boot file doesn't define topic orders of group g with Penstock::ProcessMoldTest::Consumer on " \
        ":processes, which the application has", "the boot file defines topic orders of group g with " \
        "Penstock::ProcessMoldTest::Other on :processes, which the application doesn't have"], texts
      assert_raises(ConfigurationError) { application("more").mold_context(order(application)) }
      assert_raises(ConfigurationError) { application("orders", Consumer, :threads).mold_context(order(application)) }
    end

    test "middleware that the boot file doesn't add is reported" do
      ours = application
      ours.middleware { use ->(_consumer, _action, &block) { block.call } }
      error = assert_raises(ConfigurationError) { application.mold_context(order(ours)) }

      assert_includes error.message, "the boot file doesn't define middleware Proc, which the application has"
    end

    test "in a mold nothing starts, and running an application raises with the reason" do
      Penstock::Application::ProcessMold.inside!

      assert_nil Penstock::Embedded.start(application)
      refute_predicate Penstock::Embedded, :running?
      error = assert_raises(ConfigurationError) { application.run! }
      assert_includes error.message, "the boot file runs the application"
      assert_raises(ConfigurationError) { application.swarm! }
    ensure
      Penstock::Application::ProcessMold.instance_variable_set(:@inside, nil)
    end
  end
end
