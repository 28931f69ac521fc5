# frozen_string_literal: true

require_relative "../on_demand"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Reads what callers pass to commands. Refuses what can't be meant, with all problems at once, before anything is sent.
    # Names may be Symbols. Pure, stateless.
    module Arguments
      # Members of a row of {GroupCommands#write_committed_offsets}.
      MEMBERS = %i[topic partition offset metadata leader_epoch].freeze
      # Kafka's largest partition number or leader epoch, and its largest offset or time in ms.
      MOST = (2**31) - 1
      LAST = (2**63) - 1
      private_constant :MEMBERS

      class << self
        # @param kind [String] what is named, for the error: "group", "topic"
        # @param names [Array<String, Symbol>]
        # @return [Array<String>] each once
        # @raise [InvalidRequestError]
        def names(kind, names)
          names = Array(names.nil? ? [nil] : names)
          refuse(names.filter_map { |name| name_problem(kind, name) })
          names.map(&:to_s).uniq
        end

        # @return [String]
        def name(kind, name) = names(kind, [name]).first

        # @param topics [Hash{String, Symbol => Array<Integer>, Range}]
        # @return [Array<(String, Integer)>] topic and partition
        # @raise [InvalidRequestError]
        def partitions(topics)
          refuse([Problem.new("topics", "#{topics.inspect} is no Hash", HINT)]) unless topics.is_a?(Hash)
          refuse(topics.flat_map { |topic, partitions| partition_problems(topic, partitions) })
          pairs = topics.flat_map { |topic, partitions| partitions.map { |partition| [topic.to_s, partition] } }
          refuse(repeated(pairs))
          pairs
        end

        # The same for a change, which needs something to change.
        def some_partitions(topics)
          partitions(topics).tap { |pairs| refuse([Problem.new("topics", "name no partition", HINT)]) if pairs.empty? }
        end

        # @param rows [Array<Hash>] of {GroupCommands#write_committed_offsets}
        # @return [Hash{(String, Integer) => Array}] topic, partition, offset, metadata, leader epoch, by topic and partition
        # @raise [InvalidRequestError]
        def commits(rows)
          refuse([Problem.new("rows", "#{rows.inspect} is no Array of Hashes")]) unless rows.is_a?(Array)
          refuse(rows.each_with_index.flat_map { |row, index| row_problems(row, index) })
          read = rows.map { |row| row.values_at(*MEMBERS) }
            .map { |topic, *rest, epoch| [topic.to_s, *rest, (epoch if epoch && !epoch.negative?)] }
          refuse(repeated(read.map { |row| row.first(2) }))
          read.to_h { |row| [row.first(2), row] }
        end

        # @param value [Object] of a setting; lists (`cleanup.policy`) may be Arrays
        # @return [String, nil] as brokers take it
        def setting(value) = value.is_a?(Array) ? value.join(",") : value&.to_s

        # @param groups [Hash{String, Symbol => Array<String>, nil}, Array<String>] topics by group; an Array: all topics of each
        # @return [Hash{String => Array<String>, nil}]
        # @raise [InvalidRequestError]
        def groups(groups)
          groups = groups.to_h { |group| [group, nil] } if groups.is_a?(Array)
          refuse([Problem.new("groups", "#{groups.inspect} is no Hash or Array of groups", GROUPS)]) unless groups.is_a?(Hash)
          groups.to_h { |group, topics| [name("group", group), topics && names("topic", topics)] }
        end

        # @return [Boolean] whether it's an Integer that Kafka takes as a number of a partition
        def partition?(value) = value.is_a?(Integer) && value.between?(0, MOST)

        # @return [Boolean] whether it's an Integer that Kafka takes as an offset, or as a time in ms
        def offset?(value) = value.is_a?(Integer) && value.between?(0, LAST)

        # @param pairs [Array<(String, Integer)>] topic and partition
        # @return [Array<Problem>]
        def repeated(pairs)
          pairs.tally.select { |_pair, count| count > 1 }
            .map { |(topic, partition), count| Problem.new("#{topic}/#{partition}", "is given #{count} times") }
        end

        private

        HINT = "Give partitions by topic, as in {\"orders\" => [0, 1]}"
        GROUPS = "Give topics by group, as in {\"billing\" => [\"orders\"]}, or nil for all that it has committed"
        private_constant :HINT, :GROUPS

        def refuse(problems)
          raise InvalidRequestError, problems unless problems.empty?
        end

        def name_problem(kind, name)
          return Problem.new(kind, "#{name.inspect} is no name") unless name.is_a?(String) || name.is_a?(Symbol)

          return Problem.new(kind, "#{name.inspect} contains a zero byte") if name.to_s.b.include?("\0")

          Problem.new(kind, "has no name") if name.to_s.strip.empty?
        end

        def partition_problems(topic, partitions)
          named = name_problem("topic", topic)
          return [named] if named
          return [Problem.new(topic.to_s, "#{partitions.inspect} is no list of partitions", HINT)] unless
            partitions.is_a?(Array) || partitions.is_a?(Range)

          partitions.reject { |one| partition?(one) }.map { |one| Problem.new(topic.to_s, "#{one.inspect} is no partition") }
        end

        def row_problems(row, index)
          return [Problem.new("row #{index}", "#{row.inspect} is no Hash", "Its members are #{MEMBERS.join(", ")}")] unless
            row.is_a?(Hash)

          named = name_problem("row #{index}, topic", row[:topic])
          return [named] if named

          place = "#{row[:topic]}/#{row[:partition].inspect}"
          [wrong(place, "partition", row[:partition]) { |value| partition?(value) },
            wrong(place, "offset", row[:offset]) { |value| offset?(value) },
            wrong(place, "metadata", row[:metadata]) { |value| value.nil? || value.is_a?(String) },
            wrong(place, "leader_epoch", row[:leader_epoch]) { |value| epoch?(value) }].compact
        end

        # Brokers report a negative one for an epoch that they don't know.
        def epoch?(value) = value.nil? || (value.is_a?(Integer) && value <= MOST)

        def wrong(place, member, value)
          Problem.new(place, "#{member} can't be #{value.inspect}") unless yield(value)
        end
      end
    end
  end
end
