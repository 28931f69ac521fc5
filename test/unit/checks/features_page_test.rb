# frozen_string_literal: true

require "test_helper"
require_relative "../../checks/features_page"

class FeaturesPageTest < Penstock::TestCase
  Page = Penstock::Checks::FeaturesPage

  test "docs/features.md is up to date" do
    assert_equal Page.new.to_s, File.read("docs/features.md", encoding: "UTF-8"),
      "docs/features.md is out of date: run bundle exec rake docs:features"
  end

  test "every row has a description, every description a test, and every page exists" do
    assert_empty Page.new.problems
    assert_empty Page.new.pages.reject { |page| File.exist?(File.join("docs", page)) }
  end

  test "a row without a description, a description without a test, and a row in two sections are reported" do
    sections = [{"title" => "A", "page" => "a.md", "rows" => {"one" => "One.", "two" => "Two."}},
      {"title" => "B", "page" => "b.md", "rows" => {"one" => "One."}}]
    problems = Page.new(sections, tests: {"one" => [["test/x_test.rb", "holds"]], "three" => []}).problems

    assert_equal ["[three] has no description in test/checks/features.yml", '"two" in test/checks/features.yml has no test',
      '"one" is twice in test/checks/features.yml'], problems
  end

  test "a row's files are listed once each" do
    tests = {"one" => [["test/unit/x_test.rb", "holds"], ["test/unit/x_test.rb", "holds too"], ["test/native/y_test.rb", "z"]]}
    page = Page.new([{"title" => "A", "page" => "a.md", "rows" => {"one" => "One."}}], tests: tests).to_s

    assert_includes page, "## A\n"
    assert_includes page, "| One. | `one` | [a](a.md) | [native/y_test.rb](../test/native/y_test.rb), " \
      "[unit/x_test.rb](../test/unit/x_test.rb) |"
  end
end
