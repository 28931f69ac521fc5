# frozen_string_literal: true

require_relative "text"

module Pictures
  # Writes a picture as SVG. Colours are classes with two definitions, one of them for readers whose system is dark; the picture
  # has a background of its own, so that it can be read on any page.
  class Svg
    # Fill and stroke, light and dark.
    COLOURS = {
      "kafka" => %w[#fff1e0 #b45309 #3b2508 #f0a04b],
      "loop" => %w[#e3f0ff #1d4ed8 #10284a #6ea8fe],
      "code" => %w[#e4f6e8 #15803d #0f2f1b #5dd07f],
      "data" => %w[#f1ecfb #6d28d9 #2a1d45 #b794f6],
      "bad" => %w[#fde8e8 #b91c1c #3f1616 #f28b82],
      "plain" => %w[#ffffff #57606a #21262d #9da7b3],
      "area" => %w[#f6f8fa #d0d7de #161b22 #30363d],
      "page" => %w[#ffffff #ffffff #0d1117 #0d1117]
    }.freeze
    # Text and lines, light and dark.
    INK = %w[#1f2328 #e6edf3].freeze
    LINES = %w[#57606a #9da7b3].freeze
    HEAD = 7

    # @param picture [Picture]
    def initialize(picture)
      @picture = picture
    end

    def to_s
      <<~SVG
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{number(@picture.width)} #{number(@picture.height)}" \
        width="#{number(@picture.width)}" height="#{number(@picture.height)}" role="img" aria-labelledby="title description">
        <title id="title">#{escape(@picture.title)}</title>
        <desc id="description">#{escape(@picture.description)}</desc>
        <style>
        #{style}
        </style>
        <rect class="page" width="100%" height="100%" rx="6"/>
        #{elements.join("\n")}
        </svg>
      SVG
    end

    private

    def style
      ["text { font-family: #{Text::FONTS}; }", ".bold { font-weight: 600; }",
        ".line { fill: none; stroke-width: 1.5; }", ".dashed { stroke-dasharray: 5 4; }",
        *colours(0), "@media (prefers-color-scheme: dark) {", *colours(1), "}"].join("\n")
    end

    # @param theme [Integer] 0: light, 1: dark
    def colours(theme)
      ["text { fill: #{INK[theme]}; }", ".line { stroke: #{LINES[theme]}; }", ".head { fill: #{LINES[theme]}; }"] +
        COLOURS.map do |name, values|
          fill, stroke = values[theme * 2, 2]
          ".#{name} { fill: #{fill}; stroke: #{stroke}; }"
        end
    end

    def elements
      [*@picture.sections.map { |section| rectangle(section.area, "area", 4) },
        *@picture.boxes.map { |box| rectangle(box.area, box.kind, 5) },
        *@picture.arrows.flat_map { |arrow| drawn(arrow) },
        *@picture.boxes.flat_map { |box| written(box.text) },
        *@picture.labels.flat_map { |text| written(text) },
        *@picture.legend.flat_map { |kind, square, text| [rectangle(square, kind, 2), *written(text)] }]
    end

    def rectangle(area, kind, radius)
      place = {x: area.x, y: area.y, width: area.width, height: area.height, rx: radius}
      "<rect class=\"#{kind}\" #{place.map { |name, value| "#{name}=\"#{number(value)}\"" }.join(" ")}/>"
    end

    def written(text)
      text.lines.each_index.map do |index|
        bold = text.bold?(index) ? " class=\"bold\"" : ""
        anchor = (text.anchor == :start) ? "" : " text-anchor=\"#{text.anchor}\""
        "<text x=\"#{number(text.x)}\" y=\"#{number(text.baseline(index))}\" font-size=\"#{text.size}\"#{anchor}#{bold}>" \
          "#{escape(text.lines[index])}</text>"
      end
    end

    def drawn(arrow)
      points = arrow.points.map { |x, y| "#{number(x)},#{number(y)}" }.join(" ")
      kind = arrow.dashed? ? "line dashed" : "line"
      ["<polyline class=\"#{kind}\" points=\"#{points}\"/>", *arrow.heads.map { |tip, from| head(tip, from) }]
    end

    # A triangle at the tip. Arrows are horizontal or vertical where they end.
    def head(tip, from)
      dx = from[0] <=> tip[0]
      dy = from[1] <=> tip[1]
      x = tip[0] + dx * HEAD
      y = tip[1] + dy * HEAD
      corners = [tip, [x - dy * HEAD / 2.0, y - dx * HEAD / 2.0], [x + dy * HEAD / 2.0, y + dx * HEAD / 2.0]]
      "<polygon class=\"head\" points=\"#{corners.map { |point| point.map { |place| number(place) }.join(",") }.join(" ")}\"/>"
    end

    def number(value) = (value == value.to_i) ? value.to_i.to_s : value.round(1).to_s

    def escape(text) = text.gsub("&", "&amp;").gsub("<", "&lt;").gsub(">", "&gt;")
  end
end
