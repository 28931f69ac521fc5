# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      module Kafka
        # One record as it is stored in a partition.
        Record = Struct.new(:offset, :key, :payload, :timestamp, :leader_epoch, :headers)

        # One partition's log as a consumer may see it: records in offset order, offsets without a record (transaction
        # markers, compaction), a beginning that retention moves, an end that an unclean election moves back.
        class Log
          # @return [Integer] offset of the next record
          attr_reader :high

          # @return [Integer] lowest offset that is still there
          attr_reader :low

          # @return [Integer] number of the log's life: another one after it was truncated or created again
          attr_reader :life

          # @return [Integer] where it was truncated when its present life began
          attr_reader :cut_at

          attr_accessor :leader_epoch

          # @return [Array<Record>]
          attr_reader :records

          def initialize
            @records = []
            @low = 0
            @high = 0
            @leader_epoch = 0
            @life = 0
            @cut_at = 0
          end

          # @return [Record]
          def append(payload, key: nil, timestamp: 0, headers: nil)
            record = Record.new(@high, key, payload, timestamp, @leader_epoch, headers)
            @records << record
            @high += 1
            record
          end

          # Adds offsets without a record at the end: markers of transactions.
          def gap(count = 1) = @high += count

          # @return [Array<Record>] from the offset on
          def fetch(offset, max)
            index = @records.bsearch_index { |record| record.offset >= offset }
            index ? @records[index, max] : []
          end

          # Whether a fetch may begin there.
          def include?(offset) = offset.between?(@low, @high)

          # Retention: deletes everything below.
          # @return [Array<Record>] the deleted records
          def trim(offset)
            @low = offset.clamp(@low, @high)
            drop { |record| record.offset < @low }
          end

          # Compaction removes records from the middle.
          # @return [Array<Record>] the removed records
          def compact(&) = drop(&)

          # An unclean election: the end moves back.
          # @return [Array<Record>] the lost records
          def truncate(offset)
            @cut_at = @high = offset.clamp(@low, @high)
            @life += 1
            @leader_epoch += 1
            drop { |record| record.offset >= @high }
          end

          # The topic was deleted and created again.
          # @return [Array<Record>] the lost records
          def recreate
            @low = @high = @cut_at = 0
            @life += 1
            @leader_epoch = 0
            drop { true }
          end

          private

          def drop(&block)
            gone, @records = @records.partition(&block)
            gone
          end
        end
      end
    end
  end
end
