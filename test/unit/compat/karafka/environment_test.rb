# frozen_string_literal: true

require "test_helper"
require "penstock/compat/karafka/environment"

# Karafka's environment variables that a deployment still sets.
class CompatKarafkaEnvironmentTest < Penstock::TestCase
  test "variables of Karafka without effect give a warning, unless Penstock's is set too" do
    warnings = []
    logger = Object.new.tap { |one| one.define_singleton_method(:warn) { |line| warnings << line } }
    Penstock::Compat::Karafka::Environment.warn_of({"KARAFKA_ENV" => "production", "KARAFKA_BOOT_FILE" => "a.rb",
      "PENSTOCK_BOOT_FILE" => "b.rb", "KARAFKA_ROOT_DIR" => ""}, logger)

    assert_equal ["KARAFKA_ENV is set and has no effect: set PENSTOCK_ENV instead"], warnings
  end
end
