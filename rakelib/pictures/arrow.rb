# frozen_string_literal: true

require_relative "area"
require_relative "text"

module Pictures
  # An arrow between two boxes, or between points: straight if their sides face each other, otherwise with one corner.
  class Arrow
    UNIT = 10
    GAP = 6

    attr_reader :points, :ends

    # @param row [Hash{String => Object}] as in the source
    # @param boxes [Hash{String => Area}] by name
    def initialize(row, boxes)
      @row = row
      @ends = row.values_at("from", "to").grep(String)
      @points = corners(*row.values_at("from", "to").map { |place| area(place, boxes) })
    end

    def dashed? = @row["dashed"] || false

    def both? = @row["both"] || false

    # @return [Array<Area>] of each straight part
    def areas
      @points.each_cons(2).map do |(x1, y1), (x2, y2)|
        Area.new([x1, x2].min, [y1, y2].min, (x1 - x2).abs, (y1 - y2).abs).shrink(-0.5)
      end
    end

    # @return [Text, nil] above the longest part, or to the right of it
    def label
      return unless @row["text"]
      (x1, y1), (x2, y2) = @points.each_cons(2).max_by { |from, to| (from[0] - to[0]).abs + (from[1] - to[1]).abs }
      lines = @row["text"].split("\n")
      along = @row["along"] || 0.5
      x = x1 + (x2 - x1) * along
      y = y1 + (y2 - y1) * along
      (y1 == y2) ? over_horizontal(lines, x, y) : next_to_vertical(lines, x, y)
    end

    # @return [Array<Array(Array, Array)>] tip, and the point the arrow comes from, of each head
    def heads = both? ? [@points.last(2).reverse, @points.first(2)] : [@points.last(2).reverse]

    private

    def over_horizontal(lines, x, y)
      distance = lines.size * Text::LINE / 2.0 + 3
      Text.new(lines, x: x, y: (@row["side"] == "below") ? y + distance : y - distance, size: 11)
    end

    def next_to_vertical(lines, x, y)
      return Text.new(lines, x: x - GAP, y: y, anchor: :end, size: 11) if @row["side"] == "left"
      Text.new(lines, x: x + GAP, y: y, anchor: :start, size: 11)
    end

    def area(place, boxes)
      return boxes.fetch(place) if place.is_a?(String)
      Area.new(place[0] * UNIT, place[1] * UNIT, 0, 0)
    end

    def corners(from, to)
      shift = (@row["shift"] || 0) * UNIT
      return @row["via"].map { |x, y| [x * UNIT, y * UNIT] } if @row["via"]
      if (y = common(from.y, from.bottom, to.y, to.bottom))
        return [[(from.x < to.x) ? from.right : from.x, y + shift], [(from.x < to.x) ? to.x : to.right, y + shift]]
      end
      if (x = common(from.x, from.right, to.x, to.right))
        return [[x + shift, (from.y < to.y) ? from.bottom : from.y], [x + shift, (from.y < to.y) ? to.y : to.bottom]]
      end
      corner(from, to, shift)
    end

    # Leaves one box sideways and meets the other from above or below.
    def corner(from, to, shift)
      x = to.middle[0] + shift
      y = from.middle[1]
      [[(from.x < to.x) ? from.right : from.x, y], [x, y], [x, (from.y < to.y) ? to.y : to.bottom]]
    end

    # @return [Float, nil] middle of the range that two ranges have in common
    def common(from1, to1, from2, to2)
      first = [from1, from2].max
      last = [to1, to2].min
      (first + last) / 2.0 if first <= last
    end
  end
end
