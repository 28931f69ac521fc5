# frozen_string_literal: true

require "test_helper"
require "penstock/swarm/node_signals"
require "penstock/swarm/supervisor_signals"

module Penstock
  module Swarm
    class SignalsTest < TestCase
      # Stores handlers; {#call} is a signal.
      class Traps
        def initialize = @handlers = {}
        def trap(name, handler = nil, &block) = @handlers[name].tap { @handlers[name] = handler || block }
        def call(name) = @handlers.fetch(name).call
        def names = @handlers.select { |_name, handler| handler.respond_to?(:call) }.keys
      end

      def setup
        super
        @traps = Traps.new
        @prior = []
      end

      def prior(name) = @traps.trap(name) { @prior << name }

      def node_signals = NodeSignals.new(@traps).tap(&:install)

      def taken(signals)
        signals.post(:end)
        found = []
        while (message = signals.wait) != :end
          found << message
        end
        found
      end

      test "TERM to a node counts once, however often it is sent; USR1 is the second stop" do
        signals = node_signals
        %w[TERM TERM INT QUIT TERM TSTP USR1 TERM].each { |name| @traps.call(name) }

        assert_equal %w[TERM TSTP TERM], taken(signals)
      end

      test "a USR1 before its TERM is one stop" do
        signals = node_signals
        %w[USR1 TERM].each { |name| @traps.call(name) }

        assert_equal %w[TERM], taken(signals)
      end

      test "signals that only the supervisor handles don't end a node" do
        signals = node_signals
        %w[HUP USR2 INT QUIT].each { |name| @traps.call(name) }

        assert_empty taken(signals)
      end

      test "URG makes a node close its breakers, and has no effect on a process without a handler" do
        signals = node_signals
        @traps.call("URG")

        assert_equal [:close_breakers], taken(signals)
        refute_includes SupervisorSignals::NAMES, "URG", "a node inherits what its supervisor traps"
      end

      test "the supervisor takes all pending signals without waiting, and its descriptor is readable while there are some" do
        signals = SupervisorSignals.new(@traps)
        signals.install
        assert_nil IO.select([signals.io], nil, nil, 0)
        @traps.call("TERM")
        signals.post(:something)

        assert IO.select([signals.io], nil, nil, 0)
        assert_equal ["TERM", :something], signals.take_all
        assert_nil IO.select([signals.io], nil, nil, 0)
        assert_empty signals.take_all
      ensure
        signals.close
      end

      test "a thousand signals between two turns fill no pipe" do
        signals = SupervisorSignals.new(@traps)
        100_000.times { signals.post(:one) }

        assert_equal 100_000, signals.take_all.size
      ensure
        signals.close
      end

      test "SIGCHLD is trapped only where children have no descriptors" do
        [[false, false], [true, true]].each do |asked, there|
          traps = Traps.new
          signals = SupervisorSignals.new(traps, children: asked)
          signals.install
          assert_equal there, traps.names.include?("CHLD")
          signals.close
        end
      end

      test "a stop interrupts the preparation, once, and is still taken afterwards" do
        signals = SupervisorSignals.new(@traps)
        signals.install
        signals.until_stop do
          %w[TSTP INT].each { |name| @traps.call(name) }
          flunk "went on"
        end
        signals.until_stop { Thread.new { @traps.call("TERM") }.join && @through = true }
        @traps.call("QUIT")

        assert @through, "another thread has nothing to leave"
        assert_equal %w[TSTP INT TERM QUIT], signals.take_all
      ensure
        signals.close
      end

      test "a stop that interrupts the preparation counts although an error replaces the throw, as RubyGems' require may" do
        signals = SupervisorSignals.new(@traps)
        signals.install
        signals.until_stop do
          @traps.call("TERM")
        ensure
          raise "not the stop"
        end

        assert_equal %w[TERM], signals.take_all
        assert_raises(RuntimeError) { signals.until_stop { raise "no stop" } }
      ensure
        signals.close
      end

      test "a USR1 that comes before a node has its own handlers doesn't kill the node" do
        signals = SupervisorSignals.new(@traps)
        signals.install
        signals.instance_variable_set(:@owner, 0)
        %w[TERM USR1].each { |name| @traps.call(name) }
        node = node_signals
        node.take_over(signals)

        assert_equal %w[TERM TERM], taken(node)
      ensure
        signals.close
      end

      # As if the handlers ran in a child: with the number of another process.
      test "[prior traps kept] in a child the supervisor isn't woken, the child gets the signal, and so do earlier traps" do
        prior("TERM")
        signals = SupervisorSignals.new(@traps)
        signals.install
        signals.instance_variable_set(:@owner, 0)
        @traps.call("TERM")
        assert_empty signals.take_all
        node = node_signals
        node.take_over(signals)
        @traps.call("TSTP")

        assert_equal %w[TERM TSTP], taken(node)
        assert_equal %w[TERM], @prior
      ensure
        signals.close
      end
    end
  end
end
