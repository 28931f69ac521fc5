# frozen_string_literal: true

require "test_helper"
require "penstock/execution/processes/listener"

module Penstock
  class ExecutionProcessListenerTest < TestCase
    ChildDriver = Struct.new(:idle_socket)

    # @param sockets [Array<Object>] the idle socket of each driver; false: the driver reads by itself
    # @return [Array] which sockets the listener waits for, and how long
    def listens(*sockets)
      asked = []
      listener = Execution::Processes::Listener.new(nil) { sockets.map { |socket| ChildDriver.new(socket) } }
      listener.define_singleton_method(:wait) do |awaited, seconds|
        @closed = true
        asked << awaited.keys << seconds
        []
      end
      listener.__send__(:listen)
      asked
    end

    test "the listener sleeps while all drivers are idle, also if one has no child or a child that has ended" do
      assert_equal [[:socket, :other], nil], listens(:socket, nil, :other)
    end

    test "the listener polls while a driver works, because that driver will become idle" do
      assert_equal [[:socket], 0.05], listens(:socket, false, nil)
    end
  end
end
