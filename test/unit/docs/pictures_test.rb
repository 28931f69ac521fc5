# frozen_string_literal: true

require "test_helper"
require_relative "../../../rakelib/pictures/picture"

class DocsPicturesTest < Penstock::TestCase
  FOLDER = File.expand_path("../../../docs/pictures", __dir__)
  SOURCES = Dir["*.yml", base: FOLDER].sort.freeze

  test "every picture has a source" do
    assert_equal SOURCES.map { |name| name.sub(".yml", ".svg") }, Dir["*.svg", base: FOLDER].sort
  end

  SOURCES.each do |name|
    test "#{name} is drawn as the committed SVG shows it" do
      svg = File.read(File.join(FOLDER, name.sub(".yml", ".svg")), encoding: "UTF-8")

      assert svg == picture(name).to_svg, "#{name.sub(".yml", ".svg")} is out of date: run bundle exec rake docs:pictures"
    end

    test "in #{name} all text fits and nothing overlaps" do
      assert_equal [], picture(name).problems
    end

    test "a page embeds the picture of #{name}" do
      pages = Dir[File.join(FOLDER, "../**/*.md")]

      assert(pages.any? { |page| File.read(page, encoding: "UTF-8").include?("pictures/#{name.sub(".yml", ".svg")})") })
    end
  end

  test "text that is too long for its box is a problem" do
    assert_equal ['"a long text" doesn\'t fit into its box: it needs 7.5 x 2.4 units'],
      drawn("boxes" => [{"at" => [1, 1, 6, 4], "text" => "a long text"}])
  end

  test "boxes that overlap are a problem, boxes with a common edge aren't" do
    assert_equal ['"a" and "b" overlap'], drawn("boxes" => [box("a", 1, 1), box("b", 4, 2)])
    assert_empty drawn("boxes" => [box("a", 1, 1), box("b", 6, 1)])
  end

  test "an arrow through a box that it doesn't connect is a problem" do
    row = [box("a", 1, 1), box("b", 10, 1), box("c", 19, 1)]

    assert_equal ['an arrow (a to c) crosses "b"'], drawn("boxes" => row, "arrows" => [{"from" => "a", "to" => "c"}])
    assert_empty drawn("boxes" => row, "arrows" => [{"from" => "a", "to" => "b"}])
  end

  test "a label outside of the picture is a problem" do
    assert_equal ['"far away" is outside of the picture'], drawn("notes" => [{"at" => [26, 1], "text" => "far away"}])
  end

  test "a box on the edge of an area is a problem" do
    assert_equal ['"a" lies on the edge of an area'], drawn("areas" => [{"at" => [3, 0, 9, 9]}], "boxes" => [box("a", 1, 1)])
  end

  test "an unknown kind of box is refused" do
    error = assert_raises(ArgumentError) { drawn("boxes" => [box("a", 1, 1).merge("kind" => "red")]) }

    assert_match(/there is no kind "red": kafka, loop/, error.message)
  end

  test "characters with a meaning in SVG are escaped" do
    svg = source("boxes" => [box("<a> & b", 1, 1)]).to_svg

    assert_includes svg, ">&lt;a&gt; &amp; b</text>"
  end

  private

  def picture(name) = Pictures::Picture.load(File.join(FOLDER, name))

  def box(text, x, y) = {"name" => text, "at" => [x, y, 5, 4], "text" => text}

  def source(parts) = Pictures::Picture.new({"title" => "t", "description" => "d", "size" => [28, 10], **parts})

  def drawn(parts) = source(parts).problems
end
