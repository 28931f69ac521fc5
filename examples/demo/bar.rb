# frozen_string_literal: true

require "io/console/size"

module Demo
  # Draws one line with the progress of the demo: redrawn in place on a terminal, otherwise printed regularly.
  class Bar
    CELLS = 24
    REDRAW_S = 0.1
    PRINT_S = 2.0
    RATE_WINDOW_S = 2.0

    # @param out [IO]
    # @param total [Integer] orders
    def initialize(out, total)
      @out = out
      @total = total
      @redraws = out.tty?
      @drawn_at = -Float::INFINITY
      @history = []
    end

    # @return [Float] seconds between two lines
    def interval_s
      REDRAW_S
    end

    # @param produced [Integer] orders acknowledged
    # @param processed [Integer] orders finished, each counted once
    # @param in_flight [Integer] orders handed to consumers and not finished
    def show(produced:, processed:, in_flight:)
      now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      remember(now, processed)
      return if now - @drawn_at < (@redraws ? REDRAW_S : PRINT_S)

      @drawn_at = now
      draw(line(produced, processed, in_flight))
    end

    # A sentence above the bar.
    def say(text)
      @out.print("\r\e[K") if @redraws
      @out.puts(text)
    end

    def finish
      @out.print("\r\e[K") if @redraws
    end

    private

    def remember(now, processed)
      @history << [now, processed]
      @history.shift while @history.size > 2 && now - @history.first.first > RATE_WINDOW_S
    end

    def rate
      (began, first), (ended, last) = @history.first, @history.last
      (ended > began) ? ((last - first) / (ended - began)).round : 0
    end

    def line(produced, processed, in_flight)
      share = processed.fdiv(@total).clamp(0.0, 1.0)
      full = (share * CELLS).floor
      format("  [%s%s] %3d %%  produced %d  processed %d  rate %d/s  lag %d  in flight %d", "#" * full,
        "." * (CELLS - full), (share * 100).floor, produced, processed, rate, [produced - processed, 0].max, in_flight)
    end

    def draw(text)
      @redraws ? @out.print("\r#{text[0, width]}\e[K") : @out.puts(text)
      @out.flush
    end

    # Some terminals don't know their width.
    def width
      columns = IO.console_size[1]
      columns.positive? ? columns - 1 : 120
    end
  end
end
