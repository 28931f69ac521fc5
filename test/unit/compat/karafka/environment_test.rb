# frozen_string_literal: true

require "test_helper"
require "penstock/compat/karafka/environment"

# Environment variables that a deployment made for Karafka still sets.
class CompatKarafkaEnvironmentTest < Penstock::TestCase
  test "variables of Karafka that have no effect are warned of, unless Penstock's is set too" do
    warnings = []
    logger = Object.new.tap { |one| one.define_singleton_method(:warn) { |line| warnings << line } }
    Penstock::Compat::Karafka::Environment.warn_of({"KARAFKA_ENV" => "production", "KARAFKA_BOOT_FILE" => "a.rb",
      "PENSTOCK_BOOT_FILE" => "b.rb", "KARAFKA_ROOT_DIR" => ""}, logger)

    assert_equal ["KARAFKA_ENV is set and has no effect: it is PENSTOCK_ENV here"], warnings
  end
end
