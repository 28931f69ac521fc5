# frozen_string_literal: true

require "zlib"

module Demo
  # Records what one process of the demo did, so that it survives `kill -9`: one file per process, one write(2) per event.
  # A line is in the file completely once the call has returned, or not at all.
  #
  # A line is `crc32 number name field…`, separated by spaces. The number counts the lines of this file, so a line that is
  # missing shows as a gap; the checksum covers everything after it, so a damaged line shows too. Any thread may write: the
  # lock makes the order of the lines the order of the numbers, and is held for that one write.
  #
  # The reader (report.rb) shares no code with this file.
  class Journal
    # Times are nanoseconds of a clock all processes of a machine share.
    def self.now_ns
      ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :nanosecond)
    end

    # @param path [String] of a file that doesn't exist yet
    def initialize(path)
      @file = File.open(path, File::WRONLY | File::CREAT | File::EXCL | File::APPEND | File::BINARY)
      @number = 0
      @lock = Mutex.new
    end

    # @param name [String] of the event
    # @param fields [Array<#to_s>] without spaces
    # @raise [IOError] the line could not be written whole
    def write(name, *fields)
      @lock.synchronize do
        body = [@number, name, *fields].join(" ")
        line = "#{Zlib.crc32(body).to_s(16).rjust(8, "0")} #{body}\n"
        written = @file.syswrite(line)
        raise IOError, "only #{written} of #{line.bytesize} bytes were written" unless written == line.bytesize

        @number += 1
      end
    end

    # Records that the process ended normally, which a killed one can't.
    def close
      write("end")
      @file.close
    end
  end
end
