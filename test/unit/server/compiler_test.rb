# frozen_string_literal: true

require "test_helper"
require "penstock/server/compiler"

module Penstock
  class CompilerTest < TestCase
    # As of Ruby 3.3.
    class Yjit
      def initialize(on) = @on = on
      def enabled? = @on
      def enable = @on = true
    end

    # As of Ruby 3.1: decided at the start.
    Old = Struct.new(:enabled?)

    test "it is switched on where Ruby can do that later" do
      assert_equal :off, Server::Compiler.state(yjit = Yjit.new(false))
      assert_equal :on, Server::Compiler.switch_on(yjit)
      assert_equal :on, Server::Compiler.state(yjit)
    end

    test "where it is on, can't be switched on any more, or isn't there, nothing is done" do
      assert_equal :on, Server::Compiler.switch_on(Old.new(true))
      assert_equal :off, Server::Compiler.switch_on(Old.new(false))
      assert_equal :missing, Server::Compiler.switch_on(nil)
    end

    test "this Ruby says one of the three" do
      assert_includes %i[on off missing], Server::Compiler.state
    end
  end
end
