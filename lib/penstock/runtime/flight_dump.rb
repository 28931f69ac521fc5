# frozen_string_literal: true

require "json"
require_relative "../version"

module Penstock
  module Runtime
    # Writes the contents of flight recorders to a file that `penstock replay` reads. Only the newest files are kept, so that a
    # process that keeps failing doesn't fill a disk. The format is described in docs/formats.md. Stateless; any thread.
    class FlightDump
      VERSION = 1
      # Files kept in the folder, of all processes.
      KEPT = 10
      NAME = "penstock-flight-%<pid>d-%<time>s-%<number>d.json"
      PATTERN = "penstock-flight-*.json"
      private_constant :KEPT, :NAME, :PATTERN

      # @param folder [String, nil] nil: the system's temporary folder
      # @param clock [Clock]
      def initialize(folder, clock)
        @folder = folder
        @clock = clock
      end

      # @param reason [String]
      # @param lanes [Array<Hash>] see {Processing::Recording::Recorder#to_a}
      # @return [String, nil] the file's path; nil when there is nothing to write
      # @raise [SystemCallError]
      def write(reason, lanes)
        return if lanes.empty?
        text = JSON.generate(contents(reason, lanes))
        path = create { |file| file.write(text) }
        make_room
        path
      end

      private

      # tmpdir is loaded only when needed: it loads fileutils, a tenth of the boot time.
      def folder
        @folder ||= begin
          require "tmpdir"
          Dir.tmpdir
        end
      end

      def contents(reason, lanes)
        {penstock_flight: VERSION, penstock: Penstock::VERSION, ruby: RUBY_VERSION, reason: reason, pid: ::Process.pid,
         wall_ms: @clock.wall_ms, monotonic_ms: @clock.monotonic_ms, lanes: lanes}
      end

      # Never follows a link that another user may have placed there.
      def create(number = 0, &block)
        time = Time.at(0, @clock.wall_ms, :millisecond).utc.strftime("%Y%m%dT%H%M%S")
        path = File.join(folder, format(NAME, pid: ::Process.pid, time: time, number: number))
        File.open(path, File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW, 0o600, &block)
        path
      rescue Errno::EEXIST
        (number < KEPT) ? create(number + 1, &block) : raise
      end

      def make_room
        mine = Dir.glob(PATTERN, base: folder).map { |name| File.join(folder, name) }.select { |path| File.owned?(path) }
        mine.sort_by { |path| [File.mtime(path), path] }.reverse.drop(KEPT).each { |path| File.delete(path) }
      rescue Errno::ENOENT
        nil # another process has deleted it first
      end
    end
  end
end
