# frozen_string_literal: true

require_relative "batch"

module Penstock
  module Testing
    module Memory
      module Kafka
        # A partition's queue inside a client, with the interface of Penstock::Native::Lane, and the fetcher that fills
        # it.
        #
        # The client fetches while fewer than `prefetch` records wait. A record that arrives in an empty queue gives the
        # lane's only readiness signal, as in librdkafka; records that already wait give none.
        class Lane
          NO_OFFSET = -1001
          PREFETCH = 40
          FETCH = 25
          private_constant :NO_OFFSET, :PREFETCH, :FETCH

          attr_reader :client, :id, :topic, :partition, :position
          attr_accessor :cursor

          # @param client [Driver]
          # @param log [Log]
          def initialize(client, id, topic, partition, log)
            @client = client
            @id = id
            @topic = topic
            @partition = partition
            @log = log
            @cursor = NO_OFFSET
            @queue = []
            @position = nil
            @version = 0
            @closed = false
            @fetching = nil
            @told_end = nil
            @previous_from = nil
          end

          def key = @key ||= [@topic, @partition].freeze
          def closed? = @closed
          def length = @queue.size

          def close
            @closed = true
            stop
          end

          # --- called by the client

          # The partition is assigned and its position known.
          # @param offset [Integer] logical ones too
          def start(offset)
            @life = @log.life
            @position = resolve(offset)
            fetch_soon
          end

          def started? = !@position.nil?

          # @return [Boolean] whether everything in the log was fetched and taken
          def drained? = @queue.empty? && started? && !@fetching && nothing_new?

          # Stops fetching; what is in the queue is stale.
          def stop
            @version += 1
            @position = nil
            @fetching = nil
            @queue.clear
          end

          # As after an assignment nothing was consumed yet: a pause that follows doesn't move the fetch position
          # (librdkafka forgets `rktp_app_pos`). A lane whose position isn't known yet isn't moved: librdkafka refuses that.
          def seek(offset)
            @version += 1
            @queue.clear
            @fetching = nil
            @told_end = @previous_from = nil
            @cursor = offset.negative? ? NO_OFFSET : offset
            start(offset) if started?
          end

          # A pause inside librdkafka: prefetched records are dropped, and the fetch restarts where librdkafka assumes the
          # application to be, which may be before the last take.
          # @param chance [Float] 0 is the last take's beginning, 1 its end
          def repeat(chance)
            return unless started? && @previous_from && @cursor >= 0
            @version += 1
            @queue.clear
            @fetching = nil
            @told_end = nil
            @position = @previous_from + ((@cursor - @previous_from) * chance).floor
            fetch_soon
          end

          # The log has grown, or changed otherwise.
          def wake = fetch_soon

          # Queues an event of a partition other than a record.
          # @param error [Array(Integer, String)]
          def fail(error)
            push(error) if started?
          end

          # @return [Batch, nil]
          def take(max)
            return if @closed
            records, eof, error = shift(max)
            return if records.empty? && eof.nil? && error.nil?
            batch = Batch.new(self, records, eof: eof, error: error, full: records.size >= max || !error.nil?)
            moved(batch) unless records.empty?
            fetch_soon
            batch
          end

          # @return [Boolean] whether something waits
          def touch = !@queue.empty?

          def inspect = "#<Lane>"

          private

          def moved(batch)
            @most = [@most.to_i, batch.to].max
            @previous_from = @cursor.negative? ? batch.records.first.offset : @cursor
            @cursor = batch.to
          end

          def shift(max)
            records = []
            eof = nil
            while records.size < max && (entry = @queue.shift)
              case entry
              when Record
                records << entry
                eof = nil
              when Integer then eof = entry
              else return [records, eof, entry]
              end
            end
            [records, eof, nil]
          end

          def fetch_soon
            return if @fetching || !started? || @queue.size >= PREFETCH || nothing_new?
            version = @version
            @fetching = @client.fetch_later { fetched if version == @version }
          end

          def nothing_new? = @position == @log.high && @told_end == @position && @log.life == @life

          def fetched
            @fetching = nil
            return out_of_range if cut_off? || !@log.include?(@position)
            @life = @log.life
            records = @log.fetch(@position, FETCH)
            records.each { |record| push(record) }
            @position = (records.size < FETCH) ? @log.high : records.last.offset + 1
            push(@told_end = @position) if @position == @log.high && @told_end != @position
            fetch_soon
          end

          # Records up to here were fetched from a log that no longer exists: leader epochs show it.
          def cut_off? = @life != @log.life && @position > @log.cut_at

          # With the policy `earliest` librdkafka restarts at the beginning without an event. With `latest` it goes to the
          # end, which is simulated only where it restarted at records that it had already delivered: elsewhere that
          # policy leaves records out on purpose.
          def out_of_range
            @life = @log.life
            @position = gone_back? ? @log.high : @log.low
            @told_end = nil
            fetch_soon
          end

          def gone_back?
            @client.resets_to_end && @position < @log.low && @most.to_i > @log.low && @position < @most
          end

          def resolve(offset)
            case offset
            when -2, NO_OFFSET then @log.low
            when -1 then @log.high
            else offset
            end
          end

          def push(entry)
            @queue << entry
            @client.ready(self) if @queue.size == 1
          end
        end
      end
    end
  end
end
