# frozen_string_literal: true

require "test_helper"
require "logger"
require "socket"
require "stringio"
require "tmpdir"
require "penstock/application"

module Penstock
  class ControlEndpointsTest < TestCase
    def setup
      super
      @output = StringIO.new
      @dir = Dir.mktmpdir
      @env = ENV.to_h.slice("PENSTOCK_RUN_DIR", "KUBERNETES_SERVICE_HOST")
      ENV["PENSTOCK_RUN_DIR"] = @dir
    end

    def teardown
      %w[PENSTOCK_RUN_DIR KUBERNETES_SERVICE_HOST].each { |name| ENV[name] = @env[name] }
      FileUtils.remove_entry(@dir)
      super
    end

    def application(**health)
      Application.new("endpoints") do |config|
        config.logger = Logger.new(@output)
        health.each { |name, value| config.health.public_send(:"#{name}=", value) }
      end
    end

    def endpoints(application) = application.instance_variable_get(:@endpoints)

    def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

    # @return [Array<String>] addresses on which the port is open while the endpoints are
    def open_at(port, application)
      endpoints(application).open(notify: false) { %w[127.0.0.1 127.0.0.2].select { |host| open?(host, port) } }
    end

    def open?(host, port)
      TCPSocket.open(host, port) { true }
    rescue Errno::ECONNREFUSED
      false
    end

    test "the health page listens on loopback unless the settings specify another host" do
      port = free_port

      assert_equal ["127.0.0.1"], open_at(port, application(port: port))
      assert_equal %w[127.0.0.1 127.0.0.2], open_at(port, application(port: port, host: "0.0.0.0"))
    end

    test "a health host that isn't this machine's, or doesn't exist, is a configuration error that names it" do
      ["192.0.2.1", "a..b"].each do |host|
        error = assert_raises(ConfigurationError) { open_at(1, application(port: free_port, host: host)) }

        assert_match(/config.health.port: .*can't be listened on.*config.health.host \(#{Regexp.escape(host)}\)/, error.message)
      end
    end

    test "a folder whose name is too long for a control socket disables the commands, and nothing else" do
      ENV["PENSTOCK_RUN_DIR"] = File.join(@dir, "a" * 120)

      assert_equal :ran, endpoints(application.controllable!).open(notify: false) { :ran }
      assert_match(/`penstock status` and similar commands can't reach this process: too long unix socket path/, @output.string)
    end

    test "in Kubernetes the log reports that kubelet's probes can't reach a page on loopback" do
      ENV["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
      port = free_port
      open_at(port, application(port: port, host: "0.0.0.0"))
      refute_match(/health/, @output.string)
      open_at(port, application(port: port))

      assert_match(/the health page listens on 127\.0\.0\.1.*config\.health\.host = "0\.0\.0\.0"/, @output.string)
    end
  end
end
