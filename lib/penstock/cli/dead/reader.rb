# frozen_string_literal: true

require_relative "../../deadline"
require_relative "../../errors"
require_relative "../../messages/message"

module Penstock
  module CLI
    module Dead
      # Reads partitions from their beginning to their current end, without joining a group or committing. Used once, on
      # the command's thread.
      class Reader
        MOST = 1_000
        BYTES = 4 * 1024 * 1024
        # Passing an offset with the partition avoids asking the group for its position, which would need permission to
        # read the group.
        BEGINNING = -2
        private_constant :MOST, :BYTES, :BEGINNING

        # @param target [Target]
        # @param settings [Hash{String => String}] librdkafka's, of a consumer
        # @param timeout_ms [Integer] longest time without a record
        def initialize(target, settings, timeout_ms)
          @target = target
          @settings = {**settings, "auto.offset.reset" => "earliest", "enable.partition.eof" => "true",
                                   "enable.auto.commit" => "false", "enable.auto.offset.store" => "false"}
          @timeout_ms = timeout_ms
        end

        # @param topic [String]
        # @param ends [Hash{Integer => Integer}] offset at which each partition's reading ends
        # @yieldparam message [Message]
        # @raise [WaitTimeoutError] no record arrived for too long
        def each(topic, ends, &block)
          left = ends.select { |_partition, offset| offset.positive? }
          return if left.empty?

          opened(topic, left.keys) { read(left, &block) }
        end

        private

        def opened(topic, partitions)
          @consumer = @target.consumer(@settings)
          keys = partitions.map { |partition| [topic, partition] }
          @lanes = keys.map { |key| @consumer.lane(*key) }
          refused = @consumer.assign(keys.map { |key| [*key, BEGINNING] })
          raise KafkaError.build(number: refused[0], name: "assign", message: refused[1]) if refused

          yield
        ensure
          @consumer&.close(2_000)
        end

        def read(left, &block)
          deadline = Deadline.in(@timeout_ms)
          until left.empty?
            if deadline.expired?
              raise WaitTimeoutError,
                "no record arrived from partitions #{left.keys.join(", ")} for #{@timeout_ms} ms"
            end

            deadline = Deadline.in(@timeout_ms) if turn(left, &block)
          end
        end

        # @return [Boolean] whether any record arrived
        def turn(left, &block)
          @consumer.wait(100)
          nil while @consumer.poll_event
          batches = @consumer.take(@lanes.flat_map { |lane| [lane, MOST, BYTES] }).compact
          batches.each { |batch| show(batch, left, &block) }
          batches.any?
        end

        def show(batch, left)
          batch.size.times do |index|
            yield Message.new(batch, index) if batch.offset(index) < left.fetch(batch.partition, 0)
          end
          left.delete(batch.partition) if batch.eof || batch.to >= left.fetch(batch.partition, 0)
        end
      end
    end
  end
end
