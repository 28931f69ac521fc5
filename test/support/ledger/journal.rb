# frozen_string_literal: true

module Penstock
  module TestSupport
    module Ledger
      # Reads the journals of worker processes. A last line without its newline was cut off by a kill.
      class Journal
        Entry = Struct.new(:kind, :topic, :partition, :offset, :more, :at, :process) do
          def lane = [topic, partition]
        end

        # The file of one process, read as it grows: a test that waits for a line reads it many times, and each line is
        # parsed once.
        class Reading
          def initialize(path)
            @path = path
            @position = 0
            @entries = []
          end

          # @return [Array<Entry>] the present entries; the array grows with later calls
          def entries
            return @entries unless File.exist?(@path)
            text = File.open(@path) { |file| file.seek(@position) && file.read }
            whole = text[0..text.rindex("\n")] if text.include?("\n")
            whole&.each_line { |line| @entries << parse(line) }
            @position += whole.to_s.bytesize
            @entries
          end

          private

          def parse(line)
            kind, topic, partition, offset, more, at = line.split
            Entry.new(kind, topic, Integer(partition), Integer(offset), Integer(more), Float(at), @path)
          end
        end

        # @param path [String]
        # @return [Array<Entry>]
        def self.read(path) = Reading.new(path).entries

        # @param paths [Array<String>]
        def initialize(paths)
          @entries = paths.flat_map { |path| Journal.read(path) }.sort_by.with_index { |entry, index| [entry.at, index] }
        end

        attr_reader :entries

        def of(kind) = @entries.select { |entry| entry.kind == kind }

        # @param produced [Hash{Array(String, Integer) => Integer}] number of records per partition
        # @return [Array] records that no process ended
        def lost(produced)
          ended = of("E").group_by(&:lane).transform_values { |list| list.map(&:offset).uniq }
          produced.flat_map { |lane, count| ((0...count).to_a - ended.fetch(lane, [])).map { |offset| [*lane, offset] } }
        end

        # @return [Array<Entry>] ends of records that had ended before
        def duplicates
          seen = {}
          of("E").select { |entry| seen[[entry.lane, entry.offset]].tap { seen[[entry.lane, entry.offset]] = true } }
        end

        # @return [Hash{String => Integer}] records that ended again, by the process that had ended them last before
        def doubled_by_process
          last = {}
          of("E").each_with_object(Hash.new(0)) do |entry, counts|
            key = [entry.lane, entry.offset]
            counts[last[key]] += 1 if last.key?(key)
            last[key] = entry.process
          end
        end

        # @return [Array] first ends of records that came before a first end of a lower offset in the partition
        def out_of_order
          highest = Hash.new(-1)
          seen = {}
          of("E").filter_map do |entry|
            next if seen[[entry.lane, entry.offset]]
            seen[[entry.lane, entry.offset]] = true
            wrong = entry.offset < highest[entry.lane]
            highest[entry.lane] = [highest[entry.lane], entry.offset].max
            entry if wrong
          end
        end

        # @return [Array] pairs of units of the same partition that ran at the same time in two processes
        def overlaps
          running = Hash.new { |hash, lane| hash[lane] = {} }
          @entries.filter_map do |entry|
            case entry.kind
            when "B" then begin_of(running[entry.lane], entry)
            when "E" then running[entry.lane].delete([entry.process, entry.offset]) && nil
            end
          end
        end

        private

        def begin_of(running, entry)
          other = running.each_key.find { |process, _offset| process != entry.process }
          running[[entry.process, entry.offset]] = entry
          [other, entry] if other
        end
      end
    end
  end
end
