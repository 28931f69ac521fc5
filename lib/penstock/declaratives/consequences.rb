# frozen_string_literal: true

require_relative "values"

module Penstock
  module Declaratives
    # Consequences of changes that a person should know before they are made. Stateless, pure.
    module Consequences
      KEYS = "keys are assigned to other partitions than before: records of a key written before and after the change may be " \
        "in different partitions, and are then not consumed in order"
      COMPACTION = "is compacted from now on: of all records with the same key only the last one stays, and records without " \
        "a key are refused"
      DELETION = "retention applies to it from now on: records beyond its retention.ms or retention.bytes are deleted, also " \
        "the last ones of their key"

      class << self
        # @param topic [Topic]
        # @param brokers [Integer]
        # @return [Array<String>]
        def of_creation(topic, brokers)
          factor = topic.replication_factor
          in_sync = topic.config["min.insync.replicas"].to_i
          found = []
          found << "replication factor #{factor}, but the cluster has #{brokers} brokers" if factor > brokers
          found << too_many_in_sync(in_sync, factor) if in_sync > factor
          found
        end

        # Since Kafka 3.7 a topic needs no more replicas in sync than it has (KAFKA-15583). Before, a larger number refused all.
        #
        # @param in_sync [Integer] `min.insync.replicas`, at least as large as the replication factor
        # @param factor [Integer]
        # @return [String]
        def too_many_in_sync(in_sync, factor)
          always = "; brokers before Kafka 3.7 refuse them always" if in_sync > factor
          "min.insync.replicas #{in_sync} with replication factor #{factor}: as soon as one broker is down, producers with " \
            "acks=all are refused#{always}"
        end

        # @return [Array<String>]
        def of_partitions(from, to) = (to > from) ? [KEYS] : []

        # @param changes [Hash{String => (String, String)}]
        # @return [Array<String>]
        def of_changes(changes) = changes.flat_map { |property, (from, to)| of_change(property, from, to) }

        private

        def of_change(property, from, to)
          case property
          when "retention.ms", "retention.bytes" then retention(property, from, to)
          when "cleanup.policy" then policy(from, to)
          when "max.message.bytes" then smaller?(from, to) ? ["messages above #{to} bytes are refused from now on"] : []
          else []
          end
        end

        def retention(property, from, to)
          smaller?(from, to) ? ["#{property} goes from #{from} to #{to}: records beyond it are deleted"] : []
        end

        def policy(from, to)
          added = Values.items(to.to_s) - Values.items(from.to_s)
          [(COMPACTION if added.include?("compact")), (DELETION if added.include?("delete"))].compact
        end

        def smaller?(from, to)
          before, after = Values.limit(from), Values.limit(to)
          (before && after) ? after < before : false
        end
      end
    end
  end
end
