# frozen_string_literal: true

module Pictures
  # A rectangle of a picture, in pixels.
  Area = Struct.new(:x, :y, :width, :height) do
    def right = x + width
    def bottom = y + height
    def middle = [x + width / 2.0, y + height / 2.0]

    # @return [Boolean] whether both have points in common besides their edges
    def overlaps?(other)
      x < other.right && other.x < right && y < other.bottom && other.y < bottom
    end

    def contains?(other)
      x <= other.x && other.right <= right && y <= other.y && other.bottom <= bottom
    end

    # @return [Area] smaller by this much on each side; larger if it is negative
    def shrink(by) = Area.new(x + by, y + by, width - 2 * by, height - 2 * by)
  end
end
