# frozen_string_literal: true

require "tmpdir"
require "securerandom"

module Penstock
  module Execution
    module Processes
      # Shows what a child is doing, in memory that outlives it: the unit it runs, the offset it is at, how far it has marked.
      # Written by the child before user code sees a record, so that the record that kills a process is known; read by the
      # application at any time.
      #
      # An unlinked file of 32 bytes: a write is one system call, about a microsecond. Any thread of the child writes: those that
      # user code leaves running mark and iterate after their unit has ended, and must not write for the next one.
      class SharedStatus
        BYTES = 32
        FORMAT = "Q>q>q>Q>"
        NO_UNIT = 0
        NO_OFFSET = -1
        MASK = (1 << 64) - 1
        # `offset` is nil before the first record was read, `through` (all offsets below it are marked) before the first mark.
        State = Struct.new(:unit, :offset, :through)
        private_constant :BYTES, :FORMAT, :NO_UNIT, :NO_OFFSET, :MASK

        # @return [SharedStatus] a new one, to be inherited by a child
        def self.create
          path = File.join(Dir.tmpdir, "penstock-#{::Process.pid}-#{SecureRandom.hex(8)}")
          file = File.open(path, File::RDWR | File::CREAT | File::EXCL | File::BINARY, 0o600)
          File.unlink(path)
          new(file)
        end

        # @return [File]
        attr_reader :file

        # @param file [File]
        def initialize(file)
          @file = file
          @lock = Mutex.new
          @unit = NO_UNIT
          @offset = @through = NO_OFFSET
        end

        # The child begins a unit.
        # @param unit [Integer]
        def begin(unit)
          @lock.synchronize do
            @unit = unit
            @offset = @through = NO_OFFSET
            write
          end
        end

        # The unit has ended.
        def clear = self.begin(NO_UNIT)

        # User code is about to see a record. Ignored unless the unit is the one that runs.
        # @param unit [Integer]
        # @param offset [Integer]
        def at(unit, offset)
          @lock.synchronize do
            next unless unit == @unit
            @offset = offset
            write
          end
        end

        # Ignored unless the unit is the one that runs, and where another thread has marked further meanwhile.
        # @param unit [Integer]
        # @param through [Integer] all offsets below it are marked
        def marked(unit, through)
          @lock.synchronize do
            next unless unit == @unit && through > @through
            @through = through
            write
          end
        end

        # @return [State, nil] nil while the child runs nothing
        def read
          8.times do
            unit, offset, through, sum = @file.pread(BYTES, 0).unpack(FORMAT)
            next unless sum == sum(unit, offset, through)
            return (unit == NO_UNIT) ? nil : State.new(unit, known(offset), known(through))
          end
          nil
        rescue EOFError # nothing was written yet
          nil
        end

        def close = @file.close

        private

        # Must be called with the lock held.
        def write = @file.pwrite([@unit, @offset, @through, sum(@unit, @offset, @through)].pack(FORMAT), 0)

        # Lets a reader detect that it has read half of a write.
        def sum(unit, offset, through) = (unit ^ (offset & MASK) ^ (through & MASK)) & MASK

        def known(number) = (number == NO_OFFSET) ? nil : number
      end
    end
  end
end
