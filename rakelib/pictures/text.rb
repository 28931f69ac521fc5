# frozen_string_literal: true

require_relative "area"

module Pictures
  # Lines of text at a place of a picture, and the area they need in the widest font that may show them. A picture is shown with
  # the font of the reader's system; the widths here are those of DejaVu Sans, which is wider than the other fonts in the list.
  class Text
    FONTS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
    LINE = 16
    # In thousandths of the font size.
    WIDTHS = {
      "ijlI|'" => 300, " .,:;!" => 340, "frt()[]-/" => 415, "csz_`\"" => 555, "akvxye?" => 616, "bdghnopqu" => 636,
      "ABCEFJKLPRSTVXYZ" => 700, "DGHNOQUw" => 820, "mMW→←⇄…@%" => 1_000
    }.flat_map { |characters, width| characters.chars.map { |character| [character, width] } }.to_h.freeze
    OTHER = 640
    BOLD = 1.12
    private_constant :WIDTHS, :OTHER, :BOLD

    attr_reader :lines, :x, :y, :anchor, :size

    # @param x [Numeric] where lines begin, have their middle or end, depending on `anchor`
    # @param y [Numeric] middle of all lines
    # @param anchor [Symbol] :start, :middle or :end
    # @param bold [Boolean] whether the first line is bold
    def initialize(lines, x:, y:, anchor: :middle, size: 12, bold: false)
      @lines = lines.is_a?(String) ? lines.split("\n") : lines
      @x = x
      @y = y
      @anchor = anchor
      @size = size
      @bold = bold
    end

    def width = @lines.each_index.map { |index| width_of(index) }.max || 0

    def height = @lines.size * LINE

    # @return [Area]
    def area
      left = {start: @x, middle: @x - width / 2.0, end: @x - width}.fetch(@anchor)
      Area.new(left, @y - height / 2.0, width, height)
    end

    def bold?(index) = @bold && index.zero?

    # @return [Float] baseline of a line
    def baseline(index) = @y - height / 2.0 + LINE * index + 12

    private

    def width_of(index)
      plain = @lines[index].each_char.sum { |character| WIDTHS.fetch(character, OTHER) } * @size / 1_000.0
      bold?(index) ? plain * BOLD : plain
    end
  end
end
