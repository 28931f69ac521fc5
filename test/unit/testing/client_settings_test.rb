# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "stringio"
require "penstock/testing/broker_command"
require "penstock/testing/broker_process"
require "penstock/testing/cluster"

module Penstock
  module Testing
    # One number for how long the embedded broker waits for a dead or silent member, wherever it is written.
    class ClientSettingsTest < TestCase
      ROOT = File.expand_path("../../..", __dir__)
      MS = ClientSettings::SESSION_TIMEOUT_MS
      # Files that can't use the constant: a page, and texts of applications.
      WRITTEN = {
        "docs/embedded_broker.md" => /^\| `session\.timeout\.ms` \| (\d+) \|/,
        "lib/penstock/cli/templates/penstock.rb.txt" => /# config\.kafka\.merge!\("session\.timeout\.ms": ([\d_]+)/,
        "examples/rails_shop/lib/rails_shop/check.rb" => /"session\.timeout\.ms": ([\d_]+)/
      }.freeze

      WRITTEN.each do |path, number|
        test "#{path} names the embedded broker's session timeout" do
          assert_equal [MS], File.read(File.join(ROOT, path)).scan(number).flatten.map { |digits| Integer(digits) }
        end
      end

      test "the banner, the help and a cluster's settings name the same number" do
        out = StringIO.new
        BrokerProcess.new(out: out).instance_exec do
          @cluster = Struct.new(:bootstrap_servers).new("127.0.0.1:1")
          @out.puts(banner)
        end

        assert_includes out.string, "session.timeout.ms=#{MS} "
        assert_includes BrokerCommand.details, "session.timeout.ms\nto #{MS}:"
        assert_equal MS, Cluster::SETTINGS.fetch(:"session.timeout.ms")
      end

      test "members of KIP-848 groups get the same times from the broker" do
        seen = []
        commands = Object.new
        commands.define_singleton_method(:call) { |name, arguments| seen << [name, arguments] }
        ControlServer.stub(:new, ->(_commands) { throw(:opened) }) do
          Native::MockCluster.stub(:new, nil) do
            ControlCommands.stub(:new, ->(*) { commands }) { catch(:opened) { BrokerProcess.new.send(:open) } }
          end
        end
        times = seen.to_h.fetch("group_times")

        assert_equal [MS, ClientSettings::HEARTBEAT_INTERVAL_MS], times.values_at("session_timeout_ms", "heartbeat_interval_ms")
      end
    end
  end
end
