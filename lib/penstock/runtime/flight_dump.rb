# frozen_string_literal: true

require "json"
require_relative "../version"

module Penstock
  module Runtime
    # Writes what flight recorders hold into a file that `penstock replay` reads. Only the newest files are kept, so that a
    # process that fails again and again doesn't fill a disk. The format is described in docs/formats.md. Stateless; any thread.
    class FlightDump
      VERSION = 1
      # Files of all processes that are kept in the folder.
      KEPT = 10
      NAME = "penstock-flight-%<pid>d-%<time>s-%<number>d.json"
      PATTERN = "penstock-flight-*.json"
      private_constant :KEPT, :NAME, :PATTERN

      # @param folder [String, nil] nil: the system's temporary one
      # @param clock [Clock]
      def initialize(folder, clock)
        @folder = folder
        @clock = clock
      end

      # @param reason [String]
      # @param lanes [Array<Hash>] see {Processing::Recording::Recorder#to_a}
      # @return [String, nil] its path; nil when there is nothing to write
      # @raise [SystemCallError]
      def write(reason, lanes)
        return if lanes.empty?
        text = JSON.generate(contents(reason, lanes))
        path = create { |file| file.write(text) }
        make_room
        path
      end

      private

      # Loaded when it is needed: it brings fileutils, which costs a tenth of the boot.
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

      # Never through a link somebody else has laid there.
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
        nil # another process was quicker
      end
    end
  end
end
