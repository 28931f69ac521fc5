# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../native/envelope"
require_relative "../../native/ledger"
require_relative "../failure"

module Penstock
  module CLI
    module Dead
      # Remembers which dead letters were replayed or dropped. Stored as consumers store their progress: committed
      # offsets with a ledger in their metadata, in a group of its own. Kafka has no way to delete a single message.
      class Handled
        GROUP = "penstock-dead"

        # @param admin [Admin]
        # @param topic [String]
        # @param bounds [Hash{Integer => Array(Integer, Integer)}] first offset and end of each partition
        def initialize(admin, topic, bounds)
          @topic = topic
          committed = admin.read_committed_offsets(GROUP, {topic => bounds.keys}, stable: true)
            .to_h { |row| [row[:partition], row] }
          @ledgers = bounds.to_h { |partition, ends| [partition, ledger(committed[partition], ends)] }
          @changed = []
        end

        # @param letter [Message, Letter]
        # @return [Boolean]
        def include?(letter) = @ledgers.fetch(letter.partition).complete?(letter.offset)

        # @param letter [Letter]
        def add(letter)
          @ledgers.fetch(letter.partition).complete(letter.offset)
          @changed |= [letter.partition]
        end

        # Commits the added letters.
        # @param writer [OffsetWriter]
        # @raise [KafkaError, WaitTimeoutError]
        def save(writer)
          return if @changed.empty?

          writer.call(GROUP, @changed.map { |partition| row(partition) })
          @changed = []
        rescue WaitTimeoutError
          raise WaitTimeoutError, "no answer to the commit of #{GROUP}: handled letters may still be listed"
        end

        private

        # Offsets below the first one of the partition no longer exist.
        def ledger(row, ends)
          low, high = ends
          base = [row && row[:offset], low].compact.max
          Native::Ledger.new(base).tap do |ledger|
            ledger.admit(base, [high, base].max, nil)
            complete(row).each { |from, to| ledger.complete_many(([from, base].max...[to, high].min).to_a) }
          end
        end

        def complete(row)
          return [] unless row && row[:offset]

          Native::Envelope.decode(row[:metadata], base: row[:offset], topic: @topic).completed
        end

        def row(partition)
          ledger = @ledgers.fetch(partition)
          [@topic, partition, ledger.base, metadata(ledger, partition), -1]
        end

        def metadata(ledger, partition)
          written = Native::Envelope.write(base: ledger.base, topic: @topic, clean: true, completed: ledger)
          return written.text if written.whole?

          raise Usage, "#{@topic}/#{partition}: the handled letters are too scattered to be stored completely " \
            "(#{written.left_out_offsets} letters too many); handle the oldest letters first"
        end
      end
    end
  end
end
