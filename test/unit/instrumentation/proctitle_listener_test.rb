# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/monitor"
require "penstock/instrumentation/proctitle_listener"

module Penstock
  class ProctitleListenerTest < TestCase
    # What `ps` would show; the test's own title is put back.
    def shown = File.read("/proc/self/cmdline").delete("\0").strip

    test "[proctitle] shows the name and the state, whatever both have become" do
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
  end
end
