# frozen_string_literal: true

require "test_helper"
require "io/wait"
require "penstock/testing/port_forwarder"
require "support/free_port"

module Penstock
  class PortForwarderTest < TestCase
    def setup
      super
      @target = TCPServer.new("127.0.0.1", 0)
      @forwarder = Testing::PortForwarder.new(TestSupport::FreePort.take.first, "127.0.0.1:#{@target.local_address.ip_port}")
    end

    def teardown
      @forwarder.close
      @target.close
      super
    end

    # @return [String] the forwarded bytes
    def through(text)
      client = TCPSocket.new("127.0.0.1", @forwarder.port)
      client.write(text)
      assert @target.wait_readable(20), "nothing was forwarded"
      served = @target.accept
      assert served.wait_readable(20)
      served.readpartial(100)
    ensure
      [client, served].compact.each(&:close)
    end

    test "an accept that fails without a descriptor, or for a disconnected client, ends nothing" do
      failures = [-> { raise Errno::EMFILE }, -> { raise Errno::ECONNABORTED }, -> { raise ThreadError, "no thread" }]
      @forwarder.instance_variable_get(:@server).define_singleton_method(:accept_nonblock) do |**options|
        failing = failures.shift
        failing ? failing.call : super(**options)
      end
      assert_equal "text", through("text")
      assert_empty failures
    end
  end
end
