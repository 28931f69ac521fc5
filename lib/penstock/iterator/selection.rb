# frozen_string_literal: true

require_relative "../native"
require_relative "../reading/positions"

module Penstock
  class Iterator
    # The request to an iterator: which topics and partitions, from where to where. A frozen value.
    class Selection
      # Where a partition begins, as symbols.
      SYMBOLS = %i[earliest latest].freeze
      BEGINNING = "an offset, -N for the last N records, a Range of offsets or Times, a Time, :earliest, :latest, or true"
      LAST_PARTITION = 2**31 - 1
      # Astronomical Julian day of 1970-01-01T00:00:00Z.
      EPOCH_DAY = Rational(4_881_175, 2)
      # A topic and where it is read, before its partitions are known; `partition` is nil for all of them.
      Entry = Struct.new(:topic, :partition, :start, :stop)
      private_constant :SYMBOLS, :BEGINNING, :LAST_PARTITION, :EPOCH_DAY, :Entry

      # @param value [Object]
      # @return [Time, nil] nil: it isn't a time
      def self.time(value)
        return Time.at(value.to_r) if value.is_a?(Time)

        # Rails warns about DateTime#to_time. The astronomical Julian day is the same in all zones.
        Time.at((value.ajd - EPOCH_DAY) * 86_400) if defined?(DateTime) && value.is_a?(DateTime)
      end

      # @param topics [String, Symbol, Array, Hash]
      # @param stop [Time, nil] where partitions end that don't name an end; nil: at the end that the log has
      # @param follow [Boolean]
      # @param otherwise [:earliest, :latest] where a partition begins that names no beginning, unless the group has a commit
      # @param committed [Boolean] whether there is a group whose commits count
      # @raise [ArgumentError] lists everything that can't be read
      def initialize(topics, stop: nil, follow: false, otherwise: :earliest, committed: false)
        @stop = stop
        @follow = follow
        @otherwise = otherwise
        @default = committed ? :committed : otherwise
        @problems = []
        @entries = entries(topics).freeze
        refuse unless @problems.empty?
        freeze
      end

      # @return [Array<String>]
      def topics = @entries.map(&:topic).uniq

      # @param partitions [Hash{String => Array<Integer>}] those that exist
      # @return [Array<Reading::Positions::Wanted>]
      # @raise [KafkaError] `:unknown_partition`
      def wanted(partitions)
        @entries.flat_map do |entry|
          existing = partitions.fetch(entry.topic)
          raise no_partition(entry, existing.size) unless entry.partition.nil? || existing.include?(entry.partition)

          (entry.partition ? [entry.partition] : existing).map do |partition|
            Reading::Positions::Wanted.new(entry.topic, partition, entry.start, entry.stop || @stop, @otherwise)
          end
        end
      end

      private

      def entries(topics)
        twice(topics.keys) if topics.is_a?(Hash)
        found = topics.is_a?(Hash) ? topics.flat_map { |topic, value| topic(topic, value) } : names(topics)
        @problems << "name at least one topic" if found.empty? && @problems.empty?
        found
      end

      def names(topics)
        list = Array(topics)
        twice(list)
        list.flat_map { |topic| topic(topic, true) }
      end

      # A String and a Symbol may be the same name.
      def twice(names)
        found = names.map(&:to_s).tally.select { |_name, count| count > 1 }.keys
        @problems << "#{found.join(", ")}: named twice" unless found.empty?
      end

      def topic(topic, value)
        unless topic.is_a?(String) || topic.is_a?(Symbol)
          @problems << "#{topic.inspect} is not the name of a topic"
          return []
        end
        name = topic.to_s
        return [entry(name, nil, value)] unless value.is_a?(Hash)

        @problems << "#{name}: name at least one partition" if value.empty?
        wrong = value.keys.reject { |partition| partition.is_a?(Integer) && partition.between?(0, LAST_PARTITION) }
        @problems.concat(wrong.map { |one| "#{name}: #{one.inspect} is not a partition, which is an Integer from 0 on" })
        value.except(*wrong).map { |partition, one| entry(name, partition, one) }
      end

      def entry(topic, partition, value)
        place = partition ? "#{topic}/#{partition}" : topic
        start, stop = value.is_a?(Range) ? range(place, value) : [start(place, value), nil]
        Entry.new(topic, partition, start, stop)
      end

      def start(place, value)
        case value
        when true then @default
        when *SYMBOLS then value
        when *SYMBOLS.map(&:to_s) then value.to_sym
        when Integer then value.negative? ? Reading::Positions::Last.new(-value) : value
        else time(value) || problem(place, "begin at #{value.inspect}", BEGINNING)
        end
      end

      def range(place, range)
        first = range.begin.nil? ? :earliest : bound(range.begin)
        last = bound(range.end) unless range.end.nil?
        if first.nil? || (last.nil? && !range.end.nil?)
          return problem(place, "be read from #{range.inspect}", "bounds that are offsets of at least 0, or Times; -N for the " \
            "last N records stands alone")
        end
        return problem(place, "end at a time with follow: true", "an offset, or no end") if @follow && last.is_a?(Time)

        [first, (last && !range.exclude_end?) ? including(last) : last]
      end

      def bound(value) = (value.is_a?(Integer) && !value.negative?) ? value : time(value)

      # Kafka's times are milliseconds.
      def including(bound) = bound.is_a?(Integer) ? bound + 1 : bound + Rational(1, 1000)

      def time(value) = Selection.time(value)

      def problem(place, what, allowed)
        @problems << "#{place} can't #{what}. Allowed: #{allowed}"
        nil
      end

      def refuse
        raise ArgumentError, @problems.first if @problems.one?

        lines = @problems.map.with_index(1) { |one, number| "  #{number}. #{one}" }
        raise ArgumentError, ["#{@problems.size} problems:", *lines].join("\n")
      end

      def no_partition(entry, count)
        Native.error_for(Native.error_number(:unknown_partition), "#{entry.topic}/#{entry.partition}",
          "#{entry.topic} has #{(count == 1) ? "only partition 0" : "partitions 0 to #{count - 1}"}")
      end
    end
  end
end
