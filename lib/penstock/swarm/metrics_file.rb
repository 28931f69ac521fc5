# frozen_string_literal: true

require "json"
require "securerandom"
require "tmpdir"
require "zlib"

module Penstock
  module Swarm
    # The file in which nodes leave their metrics for the supervisor. It has no name: processes inherit it. Each node has two
    # halves and writes them in turns, so one of them is always complete. Reading and writing are independent of each other, of
    # other nodes, and of the state of any process.
    #
    # Opened by the supervisor; the kernel frees it when the last process has ended.
    class MetricsFile
      # A node's numbers: the process that wrote them, when (monotonic ns), and {Instrumentation::Metrics::Registry#snapshot}.
      Report = Struct.new(:process, :at, :snapshot)

      # Largest snapshot.
      HALF_BYTES = 4 << 20
      MAGIC = "PM01"
      # Magic, time, process id, time of its beginning, length of the body, CRC-32 of the rest.
      HEADER = "a4Q>Q>Q>L>L>"
      HEADER_BYTES = 36
      FOLDERS = ["/dev/shm", Dir.tmpdir].freeze
      private_constant :MAGIC, :HEADER, :HEADER_BYTES, :FOLDERS

      # @param folders [Array<String>] the first one that can be written to is used
      # @return [MetricsFile]
      # @raise [SystemCallError] in none of them a file can be created
      def self.open(folders = FOLDERS)
        folders.each_with_index do |folder, index|
          return new(unnamed(folder))
        rescue SystemCallError
          raise if index == folders.size - 1
        end
      end

      def self.unnamed(folder)
        path = File.join(folder, "penstock-metrics-#{::Process.pid}-#{SecureRandom.hex(8)}")
        File.open(path, File::RDWR | File::CREAT | File::EXCL | File::BINARY, 0o600).tap { File.unlink(path) }
      end
      private_class_method :unnamed

      # @return [Integer] monotonic ns
      def self.now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :nanosecond)

      # @param file [File] for reading and writing
      def initialize(file)
        @file = file
      end

      # @param index [Integer] of the node
      # @param half [Integer] 0 or 1
      # @param report [Report] its `process` is its id and the time it began
      # @return [void]
      # @raise [SystemCallError] the file system is full
      # @raise [ArgumentError] the snapshot is too large
      def write(index, half, report)
        body = JSON.generate(report.snapshot, allow_nan: true).b
        if body.bytesize > HALF_BYTES - HEADER_BYTES
          raise ArgumentError, "the metrics of node #{index} have #{body.bytesize} bytes, at most #{HALF_BYTES - HEADER_BYTES} " \
            "are reported: they are missing in the metrics of the swarm"
        end
        values = [report.at, *report.process, body.bytesize]
        @file.pwrite([MAGIC, *values, crc(values, body)].pack(HEADER) << body, offset(index, half))
      end

      # @param index [Integer] of the node
      # @return [Report, nil] the newest one that is complete
      def read(index) = [0, 1].filter_map { |half| read_half(offset(index, half)) }.max_by(&:at)

      def close = @file.close

      private

      def offset(index, half) = (index * 2 + half) * HALF_BYTES

      def read_half(offset)
        magic, *values, sum = @file.pread(HEADER_BYTES, offset).unpack(HEADER)
        return unless magic == MAGIC && values.last <= HALF_BYTES
        body = @file.pread(values.last, offset + HEADER_BYTES)
        at, pid, began, size = values
        return unless body.bytesize == size && crc(values, body) == sum
        Report.new([pid, began], at, JSON.parse(body.force_encoding(Encoding::UTF_8), allow_nan: true))
      rescue EOFError # nothing was written there
        nil
      end

      def crc(values, body) = Zlib.crc32(body, Zlib.crc32(values.pack("Q>Q>Q>L>")))
    end
  end
end
