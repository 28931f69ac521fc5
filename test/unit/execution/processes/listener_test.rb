# frozen_string_literal: true

require "test_helper"
require "penstock/execution/processes/listener"

module Penstock
  class ExecutionProcessListenerTest < TestCase
    Minder = Struct.new(:ear)

    # @param ears [Array<Object>] what there is to be heard of each child; false: another hears it
    # @return [Array] what it listens to, and how long
    def listens(*ears)
      asked = []
      listener = Execution::Processes::Listener.new(nil) { ears.map { |ear| Minder.new(ear) } }
      listener.define_singleton_method(:wait) do |heard, seconds|
        @closed = true
        asked << heard.keys << seconds
        []
      end
      listener.__send__(:listen)
      asked
    end

    test "while all rest it sleeps, also where one has no child, or one that has ended" do
      assert_equal [[:socket, :other], nil], listens(:socket, nil, :other)
    end

    test "while one works it looks around every so often: it will rest" do
      assert_equal [[:socket], 0.05], listens(:socket, false, nil)
    end
  end
end
