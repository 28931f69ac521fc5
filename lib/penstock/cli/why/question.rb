# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../native/envelope"
require_relative "../../reading/part"
require_relative "../../reading/ranges"
require_relative "../target"
require_relative "answer"

module Penstock
  module CLI
    module Why
      # Asks the cluster about one partition of one group, and reads a dump if there is one. Used by one command, on the
      # main thread.
      class Question
        # @param target [Target]
        # @param group [String]
        # @param topic [String]
        # @param partition [Integer]
        # @param options [Hash] `:dump`, `:timeout`
        def initialize(target, group, topic, partition, options)
          @target = target
          @group = group
          @topic = topic
          @partition = partition
          @options = options
        end

        # @param offset [Integer]
        # @return [Answer]
        # @raise [KafkaError] the cluster refused
        def answer(offset)
          facts = @target.admin { |admin| facts(admin, offset) }
          # Records from an open transaction on can't be read yet.
          facts.exists = exists?(offset) if offset.between?(facts.low, [facts.high, facts.stable].min - 1)
          facts.recorded = recorded(offset)
          Answer.new(facts)
        end

        private

        def facts(admin, offset)
          low, high = admin.read_watermark_offsets(@topic, @partition)
          row = admin.read_committed_offsets(@group, {@topic => [@partition]}).first
          committed = row && row[:offset]
          Answer::Facts.new(group: @group, topic: @topic, partition: @partition, offset: offset, low: low, high: high,
            stable: stable(admin), committed: committed, decoded: committed && decode(row), owner: owner(admin),
            dead: @target.dead_letter_topic(@group, @topic))
        end

        # @return [Integer] the end of what consumers can read with `isolation.level: read_committed`
        def stable(admin)
          place = {@topic => [{partition: @partition, offset: :latest}]}
          admin.read_partition_offsets(place, isolation_level: :read_committed).first.fetch(:offset)
        end

        def decode(row) = Native::Envelope.decode(row[:metadata], base: row[:offset], topic: @topic)

        # Some clusters, and the embedded broker, don't describe a group's members.
        def owner(admin)
          members = admin.group_info(@group)[:members]
          member = members.find { |one| mine?(one[:partitions]) }
          member && "#{member[:client_id]} on #{member[:host]} (#{member[:id]})"
        rescue KafkaError
          nil
        end

        def mine?(partitions) = partitions.to_a.include?([@topic, @partition])

        # Reads the record at the offset; neither joins nor changes a group.
        # @return [Boolean, nil] nil: nothing arrived in time
        def exists?(offset)
          connection = @target.reader(@options.fetch(:timeout, Target::LIMIT_S) * 1_000)
          part = Reading::Part.new(@topic, @partition, offset, offset + 1)
          Reading::Ranges.new(connection, [part]).each { return true }
          false
        rescue WaitTimeoutError
          nil
        ensure
          connection&.close
        end

        def recorded(offset)
          return unless @options[:dump]
          require_relative "recorded"

          Recorded.lines(@options[:dump], @topic, @partition, offset)
        end
      end
    end
  end
end
