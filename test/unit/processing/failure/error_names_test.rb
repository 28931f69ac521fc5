# frozen_string_literal: true

require "test_helper"
require "penstock/execution/errors"
require "penstock/processing/failure/error_names"

module Penstock
  class ErrorNamesTest < TestCase
    Api = Module.new
    Api::Error = Class.new(StandardError)
    Api::Down = Class.new(Api::Error)

    def alike(error) = Processing::Failure::ErrorNames.alike(error)

    # @return [Exception] the first, raised while the second was handled
    def caused(error, cause)
      raise error, cause: cause
    rescue => raised
      raised
    end

    test "errors are alike by their class, and by a superclass that isn't Ruby's own" do
      names = %w[Penstock::ErrorNamesTest::Api::Down Penstock::ErrorNamesTest::Api::Error]
      assert_equal names, alike(Api::Down.new)
      assert_equal ["ArgumentError"], alike(ArgumentError.new)
      assert_equal ["Errno::EPIPE"], alike(Errno::EPIPE.new)
      assert_equal %w[KeyError], alike(KeyError.new)
    end

    test "a class without a name counts as its superclass, an error of another process by its class name there" do
      assert_equal ["RuntimeError"], alike(Class.new(RuntimeError).new)
      assert_equal "Shop::Down", alike(RemoteError.new("Shop::Down", "no")).first
    end

    test "the causes of an error are looked at too" do
      error = caused(Api::Error.new, caused(RuntimeError.new, Errno::ECONNREFUSED.new))
      names = Processing::Failure::ErrorNames.with_causes(error)
      assert_includes names, "Errno::ECONNREFUSED"
      assert_includes names, "SystemCallError"
    end

    test "errors that are each other's cause don't loop forever" do
      one, other = RuntimeError.new, KeyError.new
      one.define_singleton_method(:cause) { other }
      other.define_singleton_method(:cause) { one }
      assert_includes Processing::Failure::ErrorNames.with_causes(one), "KeyError"
    end
  end
end
