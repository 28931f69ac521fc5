# frozen_string_literal: true

require "test_helper"
require "penstock/rails/settings"

module Penstock
  class RailsSettingsTest < TestCase
    def setup
      super
      @settings = OnRails::Settings.new
    end

    def error_of(&) = assert_raises(ConfigurationError, &).message

    test "settings have defaults and can be set" do
      assert_equal [:first_and_last, nil, []], [@settings.report, @settings.log_to_terminal, @settings.current_attributes]
      assert_equal false, @settings.current_attributes_for_karafka
      @settings.report = :each
      @settings.log_to_terminal = false
      @settings.current_attributes = %w[Current]
      @settings.current_attributes_for_karafka = true

      assert_equal [:each, false, %w[Current]], [@settings.report, @settings.log_to_terminal, @settings.current_attributes]
      assert @settings.current_attributes_for_karafka
    end

    test "a wrong value is an error with what is possible" do
      assert_equal "config.penstock.report: must be :first_and_last or :each, is :never", error_of { @settings.report = :never }
      assert_includes error_of { @settings.log_to_terminal = "no" }, "must be true, false or nil (in development), is \"no\""
      assert_includes error_of { @settings.current_attributes = [String] }, "an Array with names of classes"
      assert_includes error_of { @settings.current_attributes_for_karafka = nil }, "must be true or false, is nil"
    end

    test "a setting that doesn't exist is an error with the one that was meant, or with all" do
      assert_includes error_of {
        @settings.reprot = :each
      }, "config.penstock.reprot: there is no such setting. Did you mean report?"
      assert_includes error_of { @settings.concurrency }, "It has report, log_to_terminal, current_attributes"
      assert_raises(NoMethodError) { @settings.report!(1) }
      refute_respond_to @settings, :reprot
    end
  end
end
