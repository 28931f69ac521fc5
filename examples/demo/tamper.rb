# frozen_string_literal: true

module Demo
  # Removes one line from a consumer's journal, which the report must detect. The line belongs to an order that was
  # finished once, so the order then counts as lost, in addition to the gap.
  class Tamper
    def initialize(folder)
      @paths = Dir[File.join(folder, "consumer-*.journal")]
    end

    # @return [String] the line
    def drop_one
      lines = @paths.flat_map { |path| File.readlines(path).map { |line| [path, line] } }
      path, line = lines.select { |_, text| text.include?(" done ") }.group_by { |_, text| order(text) }
        .each_value.select(&:one?).map(&:first).sample
      File.write(path, File.readlines(path).reject { |text| text == line }.join)
      "#{File.basename(path)}: #{line.chomp}"
    end

    private

    def order(line)
      line.split[3]
    end
  end
end
