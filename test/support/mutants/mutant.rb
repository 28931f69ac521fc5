# frozen_string_literal: true

require "open3"

module Penstock
  module TestSupport
    module Mutants
      # A deliberate defect: a patch of a few lines against lib/ or ext/, whose first lines describe it and name what
      # detects it:
      #
      #     # Commits what was polled instead of what was processed.
      #     # breaks: I6 I1
      #     # shown by: sim
      #
      # `shown by` is `sim`, or a test file.
      class Mutant
        class Error < StandardError; end

        MOST_LINES = 5

        def self.all = Dir["test/mutants/*.patch"].sort.map { |path| new(path) }

        attr_reader :path

        # @param path [String]
        def initialize(path)
          @path = path
          @text = File.read(path)
        end

        def name = File.basename(@path, ".patch")
        def title = @text[/\A# (.*)/, 1]
        def breaks = head("breaks").split
        def shown_by = head("shown by")

        # @param tree [String] folder of a copy
        # @raise [Error] if the patch is too long, or doesn't apply
        def apply(tree)
          raise Error, "#{name} changes #{changed} lines, #{MOST_LINES} are allowed" if changed > MOST_LINES
          output, status = Open3.capture2e("patch", "-p1", "--no-backup-if-mismatch", "-i", File.expand_path(@path), chdir: tree)
          raise Error, "#{name} doesn't apply:\n#{output}" unless status.success?
        end

        private

        def changed = [@text.scan(/^\+(?!\+\+)/).size, @text.scan(/^-(?!--)/).size].max
        def head(field) = @text[/^# #{field}: (.*)/, 1] || raise(Error, "#{name} doesn't say #{field.inspect}")
      end
    end
  end
end
