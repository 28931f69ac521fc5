# frozen_string_literal: true

require "yaml"
require_relative "area"
require_relative "arrow"
require_relative "svg"
require_relative "text"

module Pictures
  # One picture of the documentation: areas, boxes, arrows and notes at the places that its source gives, in units of ten pixels.
  # docs/pictures/README.md describes the source. {#problems} finds text that doesn't fit and things that overlap.
  class Picture
    UNIT = 10
    PADDING = 4
    KINDS = %w[kafka loop code data bad plain].freeze
    LEGEND_HEIGHT = 28

    Box = Struct.new(:name, :area, :text, :kind)
    Section = Struct.new(:area, :text)

    # @param path [String] of a YAML file
    def self.load(path) = new(YAML.safe_load_file(path))

    attr_reader :title, :description, :sections, :boxes, :arrows, :notes, :legend

    # @param source [Hash{String => Object}]
    def initialize(source)
      @title = source.fetch("title")
      @description = source.fetch("description").strip.gsub(/\s+/, " ")
      @size = source.fetch("size").map { |length| length * UNIT }
      @sections = source.fetch("areas", []).map { |row| section(row) }
      @boxes = source.fetch("boxes", []).map { |row| box(row) }
      places = @boxes.select(&:name).to_h { |one| [one.name, one.area] }
      @arrows = source.fetch("arrows", []).map { |row| Arrow.new(row, places) }
      @notes = source.fetch("notes", []).map { |row| note(row) }
      @legend = legend_of(source.fetch("legend", {}))
    end

    def width = @size[0]

    def height = @size[1] + (@legend.empty? ? 0 : LEGEND_HEIGHT)

    def to_svg = Svg.new(self).to_s

    # @return [Array<String>]
    def problems
      too_large + outside + overlapping + crossing + split
    end

    # @return [Array<Text>] all texts outside of boxes
    def labels = [*@sections.filter_map(&:text), *@arrows.filter_map(&:label), *@notes]

    private

    def section(row)
      area = area(row.fetch("at"))
      text = Text.new(row["text"], x: area.x + 8, y: area.y + 12, anchor: :start, size: 11, bold: true) if row["text"]
      Section.new(area, text)
    end

    def box(row)
      kind = row.fetch("kind", "plain")
      raise ArgumentError, "there is no kind #{kind.inspect}: #{KINDS.join(", ")}" unless KINDS.include?(kind)
      area = area(row.fetch("at"))
      lines = row.fetch("text").split("\n")
      text = Text.new(lines, x: area.middle[0], y: area.middle[1], bold: row.fetch("bold") { lines.size > 1 })
      Box.new(row["name"], area, text, kind)
    end

    def note(row)
      x, y = row.fetch("at").map { |place| place * UNIT }
      Text.new(row.fetch("text"), x: x, y: y, anchor: row.fetch("anchor", "start").to_sym, size: 11)
    end

    def area(at) = Area.new(*at.map { |place| place * UNIT })

    # @return [Array<Array(String, Area, Text)>] kind, its coloured square, and its meaning
    def legend_of(rows)
      x = 16
      rows.map do |kind, meaning|
        square = Area.new(x, @size[1] + 6, 12, 12)
        text = Text.new(meaning, x: x + 18, y: @size[1] + 12, anchor: :start, size: 11)
        x = text.area.right + 20
        [kind, square, text]
      end
    end

    def too_large
      @boxes.reject { |box| box.area.shrink(PADDING).contains?(box.text.area) }
        .map { |box| "#{named(box.text)} doesn't fit into its box: it needs #{needed(box.text)} units" }
    end

    def needed(text) = [text.width, text.height].map { |length| ((length + 2.0 * PADDING) / UNIT).ceil(1) }.join(" x ")

    def outside
      canvas = Area.new(0, 0, width, height)
      [*@boxes.map { |box| [box.text, box.area] }, *[*labels, *@legend.map(&:last)].map { |text| [text, text.area] }]
        .reject { |_text, area| canvas.contains?(area) }.map { |text, _area| "#{named(text)} is outside of the picture" }
    end

    def overlapping
      areas = [*@boxes.map { |box| [box.text, box.area] }, *labels.map { |text| [text, text.area] }]
      areas.combination(2).select { |(_, one), (_, other)| one.overlaps?(other) }
        .map { |(one, _), (other, _)| "#{named(one)} and #{named(other)} overlap" }
    end

    # An arrow through a box, or through the text of something else.
    def crossing
      @arrows.flat_map do |arrow|
        met = @boxes.reject { |box| arrow.ends.include?(box.name) }.map { |box| [box.text, box.area] } +
          (labels.map { |text| [text, text.area] } + own_boxes(arrow))
        met.select { |_text, area| arrow.areas.any? { |part| part.overlaps?(area) } }
          .map { |text, _area| "an arrow (#{arrow.ends.join(" to ")}) crosses #{named(text)}" }
      end
    end

    # The text of the boxes that it connects.
    def own_boxes(arrow)
      @boxes.select { |box| arrow.ends.include?(box.name) }.map { |box| [box.text, box.text.area] }
    end

    # A box lies in an area or outside of it, not on its edge.
    def split
      @sections.product(@boxes)
        .select { |section, box| section.area.overlaps?(box.area) && !section.area.contains?(box.area) }
        .map { |_section, box| "#{named(box.text)} lies on the edge of an area" }
    end

    def named(text) = text.lines.join(" ").inspect
  end
end
