# frozen_string_literal: true

require "zlib"

module Demo
  # Reads one journal without trusting it: checks every line's checksum and number. Errors are counted, never
  # repaired. Shares no code with the writer, so a mistake there isn't repeated here.
  class JournalReader
    Line = Struct.new(:event, :fields)

    # @return [String] name of the process: the file's name without its ending
    attr_reader :name
    # @return [Array<Line>] lines whose checksum holds, in the order of the file
    attr_reader :lines
    # @return [Integer] lines whose checksum doesn't hold, or that aren't whole
    attr_reader :damaged
    # @return [Integer] lines that are missing according to a gap in the numbers, or in the wrong place
    attr_reader :missing

    def initialize(path)
      @name = File.basename(path, ".journal")
      @lines = []
      @damaged = 0
      @missing = 0
      @expected = 0
      File.foreach(path, mode: "rb") { |line| read(line) }
    end

    # @return [Boolean] whether the process recorded its end; a killed one can't
    def ended?
      @lines.last&.event == "end"
    end

    # @return [Array<Array<String>>] fields of all lines with this event
    def all(event)
      @lines.filter_map { |line| line.fields if line.event == event }
    end

    private

    def read(line)
      sum, _, body = line.chomp.partition(" ")
      return damaged_line unless line.end_with?("\n") && sum.match?(/\A\h{8}\z/) && Zlib.crc32(body) == sum.hex

      number, event, *fields = body.split
      check_number(Integer(number))
      @lines << Line.new(event, fields)
    end

    # A damaged line is still in its place, so its number isn't missing.
    def damaged_line
      @damaged += 1
      @expected += 1
    end

    def check_number(number)
      @missing += (number > @expected) ? number - @expected : 1 unless number == @expected
      @expected = number + 1
    end
  end
end
