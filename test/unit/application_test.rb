# frozen_string_literal: true

require "test_helper"
require "penstock/application"

module Penstock
  class ApplicationTest < TestCase
    # Counts stops.
    class Server
      attr_reader :stops

      def stop! = @stops = @stops.to_i + 1
    end

    def running
      application = Application.new
      application.instance_variable_set(:@server, @server = Server.new)
      application
    end

    test "an application that its own code stops in every call of consume stops once: further calls don't hurry it" do
      application = running
      5.times { application.stop! }
      assert_equal 1, @server.stops
    end

    test "an application that stops because of a signal isn't hurried by its own code; a quiet one is stopped by it" do
      application = running
      application.lifecycle.enter(:quieting)
      application.lifecycle.enter(:stopping)
      application.stop!
      assert_nil @server.stops
      quiet = running
      quiet.lifecycle.enter(:quieting)
      quiet.stop!
      assert_equal 1, @server.stops
    end

    test "each stop command of the control socket hurries the stop, as a signal does" do
      application = running
      application.stop!
      2.times { application.__send__(:commands).fetch("stop").call }
      assert_equal 3, @server.stops
    end
  end
end
