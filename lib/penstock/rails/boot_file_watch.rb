# frozen_string_literal: true

module Penstock
  module OnRails
    # Reports once per change that the boot file was changed: its routes and settings are not reloaded. Called by one thread at a
    # time.
    class BootFileWatch
      # @param path [String]
      # @param report [#call] receives the text of a line
      def initialize(path, report)
        @path = path
        @report = report
        @seen = changed_at
      end

      # @return [void]
      def check
        now = changed_at
        return if now == @seen
        @seen = now
        @report.call("#{@path} has changed: restart the process. Its settings and routes are not reloaded, only the classes")
      end

      private

      def changed_at
        File.mtime(@path)
      rescue SystemCallError # an editor replaces it
        @seen
      end
    end
  end
end
