# frozen_string_literal: true

require_relative "../on_demand"
require_relative "arguments"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Finds the offsets that a caller names by a number, a time, `:earliest` or `:latest`, for a topic or for single partitions.
    # At most six requests for any number of partitions. Stateless; runs on the caller's thread.
    class OffsetTargets
      NAMES = %i[earliest latest].freeze
      WAYS = "Give an offset (an Integer of at least 0), a Time, :earliest or :latest"
      private_constant :NAMES, :WAYS

      # @param session [Session]
      # @param offsets [Offsets]
      def initialize(session, offsets)
        @session = session
        @offsets = offsets
      end

      # @param targets [Hash{String => Object, Hash{Integer => Object}}]
      # @return [Hash{(String, Integer) => Integer}] by topic and partition
      # @raise [InvalidRequestError] all that is wrong, before anything is changed
      # @raise [KafkaError] `:unknown_topic_or_part`
      def resolve(targets)
        problems = problems_of(targets)
        raise InvalidRequestError, problems unless problems.empty?

        wanted = by_partition(targets)
        wanted.merge(named(wanted), timed(wanted)).tap { |found| check(found) }
      end

      private

      def problems_of(targets)
        return [Problem.new("topics", "is no Hash of topics", WAYS)] unless targets.is_a?(Hash)
        return [Problem.new("topics", "is empty", WAYS)] if targets.empty?

        Arguments.names("topic", targets.keys)
        problems = targets.flat_map do |topic, target|
          target.is_a?(Hash) ? partition_problems(topic, target) : [problem_of(topic.to_s, target)].compact
        end
        problems + targets.keys.group_by(&:to_s).select { |_name, same| same.size > 1 }
          .map { |name, same| Problem.new(name, "is given #{same.size} times") }
      end

      def partition_problems(topic, targets)
        return [Problem.new(topic.to_s, "names no partition", WAYS)] if targets.empty?

        targets.filter_map do |partition, target|
          next Problem.new(topic.to_s, "#{partition.inspect} is no partition") unless Arguments.partition?(partition)

          problem_of("#{topic}/#{partition}", target)
        end
      end

      def problem_of(place, target)
        return if Arguments.offset?(target) || target.is_a?(Time) || NAMES.include?(name_of(target))

        Problem.new(place, "#{target.inspect} is no offset", WAYS)
      end

      # @return [Symbol, nil]
      def name_of(target) = (target.is_a?(Symbol) || target.is_a?(String)) ? target.to_sym : nil

      def by_partition(targets)
        known = @session.topics(targets.keys.map(&:to_s))
        targets.flat_map do |topic, target|
          partitions = known.fetch(topic.to_s)[:partitions].keys
          pairs = target.is_a?(Hash) ? target.to_a : partitions.map { |partition| [partition, target] }
          pairs.map { |partition, one| [[topic.to_s, partition], one] }
        end.to_h
      end

      def named(wanted)
        NAMES.reduce({}) do |found, name|
          pairs = wanted.select { |_pair, target| name_of(target) == name }.keys
          pairs.empty? ? found : found.merge(@offsets.ends(pairs, name))
        end
      end

      # There is no record at or after a time beyond the last one: the end is meant.
      def timed(wanted)
        times = wanted.select { |_pair, target| target.is_a?(Time) }
        return {} if times.empty?

        found = @offsets.at(times)
        late = found.select { |_pair, offset| offset.negative? }.keys
        late.empty? ? found : found.merge(@offsets.ends(late, :latest))
      end

      # A consumer that begins outside of the log follows auto.offset.reset, which may skip everything.
      def check(found)
        first, last = %i[earliest latest].map { |name| @offsets.ends(found.keys, name) }
        problems = found.filter_map do |(topic, partition), offset|
          bounds = first.fetch([topic, partition])..last.fetch([topic, partition])
          next if bounds.cover?(offset)

          Problem.new("#{topic}/#{partition}", "has no offset #{offset}: its log is from #{bounds.begin} to #{bounds.end}")
        end
        raise InvalidRequestError, problems unless problems.empty?
      end
    end
  end
end
