# frozen_string_literal: true

require "test_helper"
require "penstock"

# Methods of the module `Karafka` that Penstock doesn't have.
class CompatKarafkaFrameworkTest < Penstock::TestCase
  test "methods of the modules that don't exist name what to do instead" do
    Penstock::Compat::Karafka::Framework::INSTEAD.each do |name, way_out|
      error = assert_raises(NoMethodError) { Penstock.public_send(name) }
      assert_equal "there is no Penstock.#{name}: #{way_out}", error.message.lines.first.chomp
      refute_respond_to Penstock, name
    end
    assert_path_exists Penstock.gem_root.join("lib/penstock.rb")
    %i[boot_file gem_root core_root].each do |name|
      assert_match(/has no #{name}: /, assert_raises(NoMethodError) { Penstock::App.public_send(name) }.message)
    end
  end
end
