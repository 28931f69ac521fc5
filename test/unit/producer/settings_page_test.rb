# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/message_rules"
require "penstock/producer/properties"
require "penstock/producer/settings"

class ProducerSettingsPageTest < Penstock::TestCase
  PAGE = File.read(File.expand_path("../../../docs/producing.md", __dir__))

  test "docs/producing.md has every setting, every part of a message and our defaults of properties" do
    settings = Penstock::Producer::Settings::SETTINGS.map(&:name)

    (settings + Penstock::Producer::MessageRules::KEYS).each { |name| assert_includes PAGE, "| `#{name}` |" }
    Penstock::Producer::Properties::DEFAULTS.each_key { |name| assert_includes PAGE, "`#{name}`" }
  end

  test "docs/producing.md has the defaults of the numeric settings" do
    Penstock::Producer::Settings::SETTINGS.each do |setting|
      next unless setting.default.is_a?(Integer)

      shown = setting.default.to_s.gsub(/(\d)(?=(\d{3})+\z)/, '\1,')
      assert_includes PAGE, "| `#{setting.name}` | #{shown} |"
    end
  end
end
