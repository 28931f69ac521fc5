# frozen_string_literal: true

module Demo
  # Takes one line out of a consumer's journal: the report must notice. The line is one of an order that was finished
  # once, so the order then counts as lost, besides the gap it leaves.
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
