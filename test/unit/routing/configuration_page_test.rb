# frozen_string_literal: true

require "test_helper"
require "penstock/routing/configuration_page"

class ConfigurationPageTest < Penstock::TestCase
  test "docs/configuration.md matches schema and features" do
    page = File.expand_path("../../../docs/configuration.md", __dir__)

    assert_equal Penstock::Routing::ConfigurationPage.new.to_s, File.read(page, encoding: "UTF-8"),
      "run `rake docs:configuration`"
  end

  test "every option of a topic has a description" do
    assert_empty(Penstock::Routing::Features.core.reject { |feature| feature.description.end_with?(".") }.map(&:verb))
  end
end
