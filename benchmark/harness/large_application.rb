# frozen_string_literal: true

require "fileutils"
require "zlib"

module Bench
  # Writes the code of an application as large as one with Rails and forty gems (Ruby needs more than 120 MB for it), so
  # that nothing has to be installed. `LargeApplication.work(seed)` calls forty methods of a tenth of its classes.
  class LargeApplication
    FOLDER = File.expand_path("../tmp/large_application", __dir__)
    GEMS = 40
    FILES = 16
    CLASSES = 4
    METHODS = 10
    # Calls per record, and the share of classes that they use.
    CALLS = 40
    HOT = 10

    # @return [String] the file to be required
    def self.file
      new.write
    end

    # @return [String]
    def write
      entry = File.join(FOLDER, "#{Zlib.crc32(File.read(__FILE__))}.rb")
      return entry if File.exist?(entry)
      FileUtils.rm_rf(FOLDER)
      names = Array.new(GEMS) { |number| gem(number) }.flatten
      File.write(entry, entry_code(names))
      entry
    end

    private

    def gem(number)
      folder = File.join(FOLDER, "gem_#{number}")
      FileUtils.mkdir_p(folder)
      Array.new(FILES) do |index|
        File.join(folder, "file_#{index}.rb").tap { |path| File.write(path, file_code(number, index)) }
      end
    end

    def file_code(number, index)
      classes = Array.new(CLASSES) { |place| class_code("Class#{number}x#{index}x#{place}", (number * FILES) + index) }
      "# frozen_string_literal: true\nmodule LargeApplication\n#{classes.join("\n")}\nend\n"
    end

    def class_code(name, seed)
      <<~RUBY
        class #{name}
          TITLE = "#{name} title"
          LIMIT = #{seed * 7}
          KINDS = #{Array.new(8) { |kind| "#{name}-#{kind}" }.inspect}.freeze
          OPTIONS = {#{Array.new(8) { |option| "option_#{option}: \"#{name} #{option}\"" }.join(", ")}}.freeze

          def initialize
            @seen = {}
          end

          #{Array.new(METHODS) { |method| method_code(method) }.join("\n  ")}
        end
        CLASSES << #{name}
      RUBY
    end

    def method_code(number)
      <<~RUBY
        # A comment, as programs have them.
          def step_#{number}(order, fast: false)
            total = order[:items].sum { |item| item[:price] * item[:count] + #{number} }
            return step_#{(number + 1) % METHODS}(order, fast: false) if fast && total > LIMIT
            label = "\#{TITLE}-\#{total}-\#{OPTIONS[:option_#{number % 8}]}"
            @seen.clear if @seen.size > 50
            @seen[label] ||= {kind: KINDS[total % KINDS.size], total: total}
            @seen[label].merge(label: label, customer: order[:customer].to_s.upcase)
          end
      RUBY
    end

    def entry_code(files)
      <<~RUBY
        # frozen_string_literal: true
        module LargeApplication
          CLASSES = []
        end
        #{files.map { |file| "require #{file.inspect}" }.join("\n")}
        module LargeApplication
          HOT = CLASSES.each_with_index.filter_map { |made, index| made if (index % #{HOT}).zero? }

          def self.work(seed)
            random = Random.new(seed)
            order = {customer: "customer \#{seed}", items: Array.new(5) { |index| {price: seed + index, count: index} }}
            #{CALLS}.times do
              HOT[random.rand(HOT.size)].new.public_send(:"step_\#{random.rand(#{METHODS})}", order, fast: random.rand(2).zero?)
            end
          end
        end
      RUBY
    end
  end
end
