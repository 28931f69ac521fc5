# frozen_string_literal: true

module Penstock
  module OnRails
    # Reports once per change that a file was changed that isn't loaded again: the boot file with its settings and routes, and the
    # classes of objects that the boot file has created. Called by one thread at a time.
    class BootFileWatch
      WHY = "Its settings and routes are not reloaded, only the classes"
      private_constant :WHY

      # @param path [String, nil] the boot file
      # @param report [#call] receives the text of a line
      # @param kept [#call] returns files of classes and which object keeps the code of each; called once, after the boot file
      def initialize(path, report, kept: -> { {} })
        @report = report
        @kept = kept
        @since = Time.now
        @reasons = path ? {path => WHY} : {}
        @seen = @reasons.to_h { |file, _| [file, changed_at(file)] }
      end

      # @return [void]
      def check
        include_kept if @kept
        @reasons.each do |path, why|
          now = changed_at(path)
          next if now == @seen[path]
          @seen[path] = now
          @report.call("#{path} has changed: restart the process. #{why}")
        end
      end

      private

      # Those that have changed since the boot file was loaded have changed, too.
      def include_kept
        @kept.call.except(*@reasons.keys).each do |path, why|
          @reasons[path] = why
          @seen[path] = [changed_at(path), @since].compact.min
        end
        @kept = nil
      end

      def changed_at(path)
        File.mtime(path)
      rescue SystemCallError # an editor replaces it
        @seen&.fetch(path, nil)
      end
    end
  end
end
