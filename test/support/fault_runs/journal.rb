# frozen_string_literal: true

require "zlib"

module Penstock
  module TestSupport
    module FaultRuns
      # The events that a process of a fault run records: one file per process, one write(2) per event, each with its
      # checksum and number, so that nothing is lost with the process and a line that is missing or damaged is noticed.
      # Any thread may write. A process that was forked writes a file of its own.
      #
      # A line: checksum, number, monotonic time in µs, kind, fields; with tabs between. {#text} defines how fields are
      # written.
      class Journal
        ESCAPED = /[\t\n\r%~]|[^\x20-\x7e]/n

        Line = Struct.new(:number, :at, :kind, :fields)

        class << self
          # @return [String] printable, without tabs; "~" is nil
          def text(value)
            value.nil? ? "~" : value.to_s.b.gsub(ESCAPED) { |byte| format("%%%02x", byte.ord) }
          end

          # @return [String, nil] as it was, in bytes
          def value(text)
            (text == "~") ? nil : text.gsub(/%(\h\h)/) { $1.hex.chr }
          end

          def line(number, at, kind, fields)
            body = [number, at, kind, *fields.map { |field| text(field) }].join("\t")
            "#{checksum(body)}\t#{body}\n"
          end

          # @return [Line, nil] nil for one that is damaged or was cut off
          def parse(line)
            sum, body = line.chomp.split("\t", 2)
            return unless line.end_with?("\n") && body && sum == checksum(body)

            number, at, kind, *fields = body.split("\t", -1)
            Line.new(Integer(number), Integer(at), kind, fields.map { |field| value(field) })
          end

          def checksum(body) = format("%08x", Zlib.crc32(body))
          def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :microsecond)
        end

        # @param folder [String]
        # @param application [String]
        # @param boot [Array] fields of each file's first line in addition to application and process id
        def initialize(folder, application, *boot)
          @folder = folder
          @application = application
          @boot = boot
        end

        # @param kind [String]
        # @param fields [Array]
        def write(kind, *fields)
          open unless @pid == ::Process.pid
          @lock.synchronize { append(kind, fields) }
        end

        private

        # A lock from before the fork may be held forever by a thread that doesn't exist in this process.
        def open
          @lock = Mutex.new
          @number = 0
          path = File.join(@folder, "#{@application}-#{::Process.pid}.journal")
          @file = File.open(path, File::WRONLY | File::CREAT | File::APPEND)
          @pid = ::Process.pid
          wall = ::Process.clock_gettime(::Process::CLOCK_REALTIME, :microsecond) - Journal.now
          @lock.synchronize { append("boot", [@application, ::Process.pid, wall, *@boot]) }
        end

        def append(kind, fields)
          line = Journal.line(@number + 1, Journal.now, kind, fields)
          written = @file.syswrite(line)
          raise "journal: #{written} of #{line.bytesize} bytes written" unless written == line.bytesize

          @number += 1
        end
      end
    end
  end
end
