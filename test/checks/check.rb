# frozen_string_literal: true

module Penstock
  module Checks
    # The result of a check. `unknown` is a third answer, for what could not be checked here: it is neither passed nor
    # failed, and it is always printed.
    class Check
      Answer = Struct.new(:problems, :unknown, :figures, keyword_init: true) do
        def passed?
          problems.empty? && unknown.nil?
        end
      end

      def self.title
        name.split("::").last.gsub(/(?<=[a-z])(?=[A-Z])/, " ").downcase
      end

      # @return [Answer]
      def call
        Answer.new(problems: problems, unknown: unknown, figures: figures)
      end

      private

      def unknown
      end

      def figures
      end

      # Files that belong to the repository: tracked, or new and not ignored.
      def files(*patterns)
        IO.popen(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], &:read)
          .lines(chomp: true).select { |path| File.file?(path) }.uniq
      end

      # @return [(String, Boolean)] the command's output, and whether it succeeded
      def run(*command, env: {})
        output = IO.popen(env, command, err: %i[child out], &:read)
        [output, Process.last_status.success?]
      end
    end
  end
end
