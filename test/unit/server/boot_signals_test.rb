# frozen_string_literal: true

require "test_helper"
require "open3"
require "penstock/server/signals"

module Penstock
  module Server
    class BootSignalsTest < TestCase
      # Records handlers; {#call} simulates a signal.
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

      test "a stop during the boot ends the process with a clean code; signals without a meaning yet do nothing" do
        code = assert_raises(SystemExit) { hold { %w[USR2 TSTP TERM].each { |name| @traps.call(name) } } }.status

        assert_equal 0, code
        assert_nil BootSignals.current
      end

      test "after the boot has ended, a second stop does nothing, and a third ends the process at once" do
        boot = nil
        assert_raises(SystemExit) do
          hold do
            boot = BootSignals.current
            @traps.call("TERM")
          end
        end
        codes = []
        boot.define_singleton_method(:exit!) { |code| codes << code }
        %w[TERM TSTP USR2].each { |name| @traps.call(name) }
        assert_empty codes
        @traps.call("HUP")

        assert_equal [2], codes
      end

      test "after a run that the command line started, stop signals do nothing up to the third, which ends the process at once" do
        codes = []
        signals = Signals.new(@traps, exit_now: codes.method(:push))
        hold do
          signals.install
          @traps.call("TERM")
          signals.restore
        end
        %w[INT TSTP HUP].each { |name| @traps.call(name) }
        assert_empty codes
        @traps.call("QUIT")

        assert_equal [[2], "TERM", :none], [codes, signals.wait, signals.post(:none) && signals.wait]
      end

      test "a stop between the end of the boot and the application's handlers counts as a stop during the boot" do
        hold do
          assert_raises(SystemExit) { @traps.call("TERM") }
          signals.install
          @traps.call("TERM")

          assert_equal "TERM", signals.wait
        end
      end

      test "a stop during the boot whose exit is swallowed, as a Logger does while it writes, stops the application" do
        hold do
          begin
            @traps.call("TERM")
          rescue Exception # rubocop:disable Lint/RescueException -- as such a Logger does
            nil
          end
          signals.install

          assert_equal "TERM", signals.wait
        end
      end

      test "a stop during the boot whose exit is replaced by an error, as RubyGems' require may, ends with the stop's code" do
        code = hold do
          @traps.call("TERM")
        ensure
          raise "not the stop"
        end

        assert_equal 0, code
        assert_raises(RuntimeError) { hold { raise "no stop" } }
        assert_raises(RuntimeError, "the application's own handlers had the stop") do
          hold do
            signals.install
            @traps.call("TERM")
            raise "of the application"
          end
        end
      end

      test "a fatal signal ends the process by that signal, although code on its main thread rescues every Exception" do
        program = <<~RUBY
          require "penstock/server/boot_signals"
          Penstock::Server::BootSignals.hold(stops: [], fatal: %w[USR2], code: 0) do
            Process.kill("USR2", Process.pid)
            Thread::Queue.new.pop
          rescue Exception
            exit!(3)
          end
        RUBY
        _, status = Open3.capture2e(RbConfig.ruby, "-I", File.expand_path("../../../lib", __dir__), "-e", program)

        assert_equal "USR2", Signal.signame(status.termsig.to_i), status.inspect
      end

      test "[prior traps kept] a fatal signal that already has a handler keeps it" do
        earlier = -> {}
        @traps = Traps.new(USR1: earlier, USR2: "DEFAULT")
        BootSignals.hold(stops: [], fatal: %w[USR1 USR2], code: 0, handler_of: @traps) do
          assert_same earlier, @traps.handlers["USR1"]
          assert_kind_of Proc, @traps.handlers["USR2"]
        end

        assert_same earlier, @traps.handlers["USR1"]
      end

      test "kept signals are passed to the application first, once" do
        hold do
          @traps.call("TSTP")
          signals.install
          @traps.call("TERM")
          @traps.call("TSTP")
          words = Array.new(3) { signals.wait }

          assert_equal %w[TSTP TERM TSTP], words
        end
      end

      test "[prior traps kept] traps from before the boot are the application's earlier ones" do
        called = []
        earlier = -> { called << :earlier }
        @traps = Traps.new(TERM: earlier)
        hold do
          signals.install
          @traps.call("TERM")
          assert_equal [:earlier], called
        end
      end

      test "[prior traps kept] a trap of the boot file is called too, and the boot's handler that it calls no longer ends the process" do
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
