# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/monitor"
require "penstock/instrumentation/proctitle_listener"

module Penstock
  class ProctitleListenerTest < TestCase
    # The title that `ps` would show; the test's own title is restored.
    def shown = File.read("/proc/self/cmdline").delete("\0").strip

    test "[proctitle] shows the current name and state" do
      skip "no /proc here" unless File.exist?("/proc/self/cmdline")
      before, name = $0, "penstock server shop"
      monitor = Instrumentation::Monitor.new
      monitor.subscribe(Instrumentation::ProctitleListener.new { name })
      monitor.instrument("app.running", {server_id: "x"})
      assert_equal "penstock server shop (running)", shown
      name = "penstock node shop-1"
      monitor.instrument("app.stopping", {server_id: "x"})
      assert_equal "penstock node shop-1 (stopping)", shown
    ensure
      ::Process.setproctitle(before)
    end

    test "a name with any bytes gives a title: no control characters, not even NUL, and no more than fits" do
      skip "no /proc here" unless File.exist?("/proc/self/cmdline")
      before = $0
      Instrumentation::ProctitleListener.new { "shop\0\e]0;x\a\xFF" }.on_app_running(nil)
      assert_equal 'shop\x00\e]0;x\x07\xFF (running)', shown
      Instrumentation::ProctitleListener.new { "x" * 100_000 }.on_app_running(nil)
      assert_operator shown.bytesize, :<, 250
    ensure
      ::Process.setproctitle(before)
    end

    test "without a name of its own it shows the application's, or only penstock" do
      skip "no /proc here" unless File.exist?("/proc/self/cmdline")
      type = Instrumentation::ProctitleListener
      before, default = $0, type.default
      [[nil, "penstock (quiet)"], [-> { "shop" }, "penstock shop (quiet)"]].each do |answers, wanted|
        type.default = answers
        type.new.on_app_quiet(nil)
        assert_equal wanted, shown
      end
    ensure
      type.default = default
      ::Process.setproctitle(before)
    end
  end
end
