# frozen_string_literal: true

require "test_helper"
require "open3"
require "penstock"
require "penstock/compat/karafka/constants"
require "penstock/compat/karafka/server"

# Constants in code for Karafka in which only the first part of the name was replaced.
class CompatKarafkaConstantsTest < Penstock::TestCase
  Constants = Penstock::Compat::Karafka::Constants

  test "a constant of Karafka that doesn't exist here is reported with its replacement" do
    (Constants::TOP_LEVEL.keys - %i[Server Testing]).each do |name|
      error = assert_raises(NameError) { Penstock.const_get(name, false) }

      hint = Constants::TOP_LEVEL[name]
      assert_equal ["there is no Penstock::#{name}: #{hint}. See docs/coming-from-karafka.md", name],
        [error.message.lines.first.chomp, error.name]
      refute Penstock.const_defined?(name, false)
    end
    assert_match(/\Auninitialized constant Penstock::Nobody/, assert_raises(NameError) { Penstock::Nobody }.message)
  end

  test "a constant within a namespace that exists here is reported, too" do
    Constants::WITHIN.except("Penstock").each do |namespace, hints|
      hints.each do |name, hint|
        error = assert_raises(NameError) { Object.const_get(namespace).const_missing(name) }
        assert_equal ["there is no #{namespace}::#{name}: #{hint}. See docs/coming-from-karafka.md", name],
          [error.message.lines.first.chomp, error.name]
      end
      assert_match(/\Auninitialized constant #{namespace}::Nobody/,
        assert_raises(NameError) { Object.const_get(namespace)::Nobody }.message)
    end
  end

  test "they are reported before anything else is loaded" do
    script = 'require "penstock"; Penstock::Instrumentation::Vendors'
    text, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", script)
    refute status.success?
    assert_includes text, "there is no Penstock::Instrumentation::Vendors: Penstock::Monitors::StatsD"
  end

  test "messages have the names that they have in Karafka" do
    assert_equal [Penstock::Message, Penstock::Message, Penstock::Messages],
      [Penstock::Messages::Message, Penstock::Messages::Metadata, Penstock::Messages::Messages]
    assert_equal %w[Penstock::Message Penstock::Messages], [Penstock::Message, Penstock::Messages].map(&:name)
  end

  test "a monitor refuses another bus" do
    error = assert_raises(ArgumentError) { Penstock::Instrumentation::Monitor.new(Module.new, "karafka") }
    assert_match(/takes no other bus.*subscribe a block/, error.message)
  end

  test "Server is reported whether Penstock's namespace of that name is loaded or not" do
    assert_includes Constants.message(:Server), "use the application's class: PenstockApp.run!"
    namespace = Module.new { extend Penstock::Compat::Karafka::Server }
    error = assert_raises(NoMethodError) { namespace.run }

    assert_match(/\APenstock::Server has no run: use the application's class: PenstockApp.run!/, error.message)
    refute_respond_to namespace, :run
  end
end
