# frozen_string_literal: true

require "test_helper"
require "penstock/server/compiler"

module Penstock
  class CompilerTest < TestCase
    # As in Ruby 3.3.
    class Yjit
      def initialize(on) = @on = on
      def enabled? = @on
      def enable = @on = true
    end

    # As in Ruby 3.1: decided at the start.
    Old = Struct.new(:enabled?)

    test "it is switched on if Ruby can do that at run time" do
      assert_equal :off, Server::Compiler.state(yjit = Yjit.new(false))
      assert_equal :on, Server::Compiler.switch_on(yjit)
      assert_equal :on, Server::Compiler.state(yjit)
    end

    test "if it is on, can't be switched on any more, or doesn't exist, nothing is done" do
      assert_equal :on, Server::Compiler.switch_on(Old.new(true))
      assert_equal :off, Server::Compiler.switch_on(Old.new(false))
      assert_equal :missing, Server::Compiler.switch_on(nil)
    end

    test "this Ruby has one of the three states" do
      assert_includes %i[on off missing], Server::Compiler.state
    end
  end
end
