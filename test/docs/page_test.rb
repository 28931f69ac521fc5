# frozen_string_literal: true

require "test_helper"
require "tempfile"
require_relative "support/page"
require_relative "support/ruby_example"
require_relative "support/watch"

# Tests the code that runs the examples: a runner that can't fail would prove nothing.
class DocsPageTest < Penstock::TestCase
  test "blocks in Ruby and shell are examples, others aren't" do
    assert_equal %w[ruby sh], examples("```ruby\n1\n```\n\n```sh\ntrue\n```\n\n```text\nno\n```\n").map(&:language)
  end

  test "comments directly above a fence belong to it, comments with text in between don't" do
    first, second = examples("<!-- before a = 1 -->\n<!-- prints: 1 -->\n\n```ruby\nputs a\n```\n\n" \
                             "<!-- exit: 3 -->\nText.\n\n```ruby\n2\n```\n")

    assert_equal [["before", "a = 1"], ["prints", "1"]], first.directives
    assert_empty second.directives
    assert_equal "page.md:4", first.place
  end

  test "a comment over several lines is one directive" do
    assert_equal "a = 1\nb = 2", examples("<!-- before\na = 1\nb = 2\n-->\n```ruby\n1\n```\n").first.directive("before")
  end

  test "an example whose write fails is run once more, with other code before it" do
    plain, twice = examples("```ruby\n1\n```\n" \
                            "<!-- before\na = 1\n-->\n<!-- after\nb\n-->\n<!-- failing\na = 2\n-->\n```ruby\na\n```\n")

    assert_nil plain.failing
    assert_equal [["a = 1"], ["a = 2"], ["b"]], [twice.all("before"), twice.failing.all("before"), twice.failing.all("after")]
  end

  test "no-run is above the fence or after its language, and needs a reason" do
    above, behind, bare = examples("<!-- no-run: dear -->\n```sh\n1\n```\n" \
                                   "```sh no-run (slow)\n1\n```\n<!-- no-run: -->\n```sh\n1\n```\n")

    assert_equal %w[dear slow], [above.directive("no-run"), behind.directive("no-run")]
    assert_equal [[], [], ["page.md:9: no-run needs a reason"]], [above, behind, bare].map(&:problems)
  end

  test "an unknown directive is a problem" do
    assert_equal ["page.md:2: there is no directive print"], examples("<!-- print: 1 -->\n```ruby\n1\n```\n").first.problems
  end

  test "an example that doesn't end as declared is a failure" do
    failing, silent, fine = examples("```sh\nexit 1\n```\n" \
                                     "<!-- prints: yes -->\n```sh\ntrue\n```\n<!-- exit: 3 -->\n```sh\nexit 3\n```\n")

    assert_match(/page.md:1: it ended with .*exit 1, not with exit code 0/, watch(failing))
    assert_match(/it doesn't print "yes"/, watch(silent))
    assert_nil watch(fine)
  end

  private

  def examples(text)
    Tempfile.create("page") do |file|
      file.write(text)
      file.close
      Penstock::DocsTest::Page.new(file.path, "page.md").examples
    end
  end

  def watch(example)
    Penstock::DocsTest::Watch.new(example).call do |output|
      Process.spawn("sh", "-c", example.code, out: output, err: output, pgroup: true)
    end
  end
end
