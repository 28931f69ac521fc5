# frozen_string_literal: true

require "test_helper"
require "penstock/application"

module Penstock
  class ApplicationTest < TestCase
    # Counts what it is told.
    class Server
      attr_reader :stops

      def stop! = @stops = @stops.to_i + 1
    end

    def running
      application = Application.new
      application.instance_variable_set(:@server, @server = Server.new)
      application
    end

    test "an application that its own code stops in every call of consume is stopped once: nothing hurries that, nor ends the process" do
      application = running
      5.times { application.stop! }
      assert_equal 1, @server.stops
    end

    test "an application that stops because of a signal isn't hurried by its own code; one that is quiet is stopped" do
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

    test "who tells it from outside hurries it each time, as a signal does" do
      application = running
      application.stop!
      2.times { application.__send__(:commands).fetch("stop").call }
      assert_equal 3, @server.stops
    end
  end
end
