# frozen_string_literal: true

require "test_helper"
require "penstock/routing/configuration_page"

class ConfigurationPageTest < Penstock::TestCase
  test "docs/configuration.md matches schema and features" do
    page = File.expand_path("../../../docs/configuration.md", __dir__)

    assert_equal Penstock::Routing::ConfigurationPage.new.to_s, File.read(page, encoding: "UTF-8"),
      "run `rake docs:configuration`"
  end

  test "the verbs that draw topics are listed, each with its options and a description" do
    page = Penstock::Routing::ConfigurationPage.new.to_s[/^## Verbs that draw topics\n.*?(?=^## )/m]
    Penstock::Routing::Macro.core.each do |macro|
      row = page.lines.find { |line| line.start_with?("| `#{macro.verb}` |") }
      (macro.options.keys - [:value]).each { |option| assert_includes row, "`#{option}:`" }
      assert_match(/\w\.\)?\.? \|$|\)\. \|$/, row)
    end
    assert_operator page.lines.size, :>, 6
  end

  test "every option of a topic has a description" do
    assert_empty(Penstock::Routing::Features.core.reject { |feature| feature.description.end_with?(".") }.map(&:verb))
  end
end
