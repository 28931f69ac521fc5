# frozen_string_literal: true

require "test_helper"

# A link between pages leads to an existing file, and to a heading in it.
class DocsLinksTest < Penstock::TestCase
  ROOT = File.expand_path("../..", __dir__)
  PAGES = Dir["{*.md,docs/**/*.md,examples/**/*.md}", base: ROOT].freeze
  LINK = /\[[^\]]*\]\((?!https?:)(?<path>[^)#\s]*)(?:#(?<anchor>[^)\s]+))?\)/

  PAGES.each do |page|
    test "the links of #{page} have a target" do
      wrong = links(page).reject { |path, anchor| leads?(path, anchor) }

      assert_equal [], wrong.map { |path, anchor| [path.delete_prefix("#{ROOT}/"), anchor].compact.join("#") }
    end
  end

  test "every page of docs/ can be reached from the README by links" do
    reached = []
    waiting = [File.join(ROOT, "README.md")]
    while (page = waiting.shift)
      reached << page
      waiting |= links(page.delete_prefix("#{ROOT}/")).map(&:first).select { |path| page?(path) } - reached
    end

    assert_equal [], Dir[File.join(ROOT, "docs/**/*.md")] - reached
  end

  private

  def page?(path) = PAGES.include?(path.delete_prefix("#{ROOT}/"))

  def links(page)
    here = File.join(ROOT, page)
    File.read(here, encoding: "UTF-8").to_enum(:scan, LINK).map do
      found = Regexp.last_match
      [found[:path].empty? ? here : File.expand_path(found[:path], File.dirname(here)), found[:anchor]]
    end
  end

  # Results of measurements are written by bin/bench, and may be missing.
  def leads?(path, anchor)
    return true if path.include?("/benchmark/results/")
    File.exist?(path) && (anchor.nil? || headings(path).include?(anchor))
  end

  # Anchors of headings, as GitHub generates them.
  def headings(path)
    File.readlines(path, encoding: "UTF-8").grep(/\A\#{1,6} /).map do |line|
      line.sub(/\A#+ /, "").strip.downcase.gsub(/[^\p{Alnum} _-]/, "").tr(" ", "-")
    end
  end
end
