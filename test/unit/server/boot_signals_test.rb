# frozen_string_literal: true

require "test_helper"
require "penstock/server/signals"

module Penstock
  module Server
    class BootSignalsTest < TestCase
      # Keeps handlers; {#call} is a signal.
      class Traps
        attr_reader :handlers

        def initialize(**handlers) = @handlers = handlers.transform_keys(&:to_s)
        def trap(name, handler = nil, &block) = @handlers[name].tap { @handlers[name] = handler || block }
        def call(name) = @handlers[name].respond_to?(:call) ? @handlers[name].call : @handlers[name]
      end

      def setup
        super
        @traps = Traps.new
      end

      def hold(&) = BootSignals.hold(stops: %w[TERM HUP], kept: %w[TSTP], idle: %w[USR2], code: 0, handler_of: @traps, &)

      def signals = @signals ||= Signals.new(@traps)

      test "a stop while it boots ends the process with a clean code; what has no meaning yet does nothing" do
        code = assert_raises(SystemExit) { hold { %w[USR2 TSTP TERM].each { |name| @traps.call(name) } } }.status

        assert_equal 0, code
        assert_equal [nil, %w[DEFAULT]], [BootSignals.current, @traps.handlers.values.uniq]
      end

      test "a stop that comes when the boot is over, but before the application listens, is one while it boots" do
        hold do
          assert_raises(SystemExit) { @traps.call("TERM") }
          signals.install
          @traps.call("TERM")

          assert_equal "TERM", signals.wait
        end
      end

      test "what was kept comes to the application first, once" do
        hold do
          @traps.call("TSTP")
          signals.install
          @traps.call("TERM")
          @traps.call("TSTP")
          words = Array.new(3) { signals.wait }

          assert_equal %w[TSTP TERM TSTP], words
        end
      end

      test "[prior traps kept] traps that were there before the boot are the application's earlier ones, and put back" do
        called = []
        earlier = -> { called << :earlier }
        @traps = Traps.new(TERM: earlier)
        hold do
          signals.install
          @traps.call("TERM")
          assert_equal [:earlier], called
          signals.restore
          assert_same earlier, @traps.handlers["TERM"]
        end

        assert_same earlier, @traps.handlers["TERM"]
      end

      test "[prior traps kept] a trap of the boot file is called too, and what it calls in turn doesn't end the process any more" do
        called = []
        hold do
          before = @traps.trap("TERM", -> { called << :boot_file && before.call })
          signals.install
          @traps.call("TERM")
        end

        assert_equal [[:boot_file], "TERM"], [called, signals.wait]
      end

      test "a HUP that was ignored stays ignored" do
        @traps = Traps.new(HUP: "IGNORE")
        hold do
          assert_equal "IGNORE", @traps.call("HUP")
          signals.install
          assert_equal "IGNORE", @traps.call("HUP")
        end
        assert_equal "IGNORE", @traps.handlers["HUP"]
      end
    end
  end
end
