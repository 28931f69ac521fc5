# frozen_string_literal: true

require_relative "../query_time"
require_relative "last_records"
require_relative "part"

module Penstock
  module Reading
    # Turns what is wanted of partitions into offsets, with one request for each kind of question, however many partitions there
    # are. Used once, on the thread of its connection.
    class Positions
      # A wanted range of a partition. `start`: an Integer offset, a {Last}, a Time, `:earliest`, `:latest`, or `:committed` (what
      # the connection's group has committed, else, or if that is beyond the end of the log, `otherwise`). `stop`: an Integer
      # offset, a Time, or nil for the end.
      Wanted = Struct.new(:topic, :partition, :start, :stop, :otherwise) do
        def key = [topic, partition]
      end

      # The last records before the end.
      Last = Struct.new(:count)

      # @param connection [Connection]
      # @param follow [Boolean] whether partitions without a `stop` never end, instead of ending where they end now
      def initialize(connection, follow: false)
        @connection = connection
        @follow = follow
      end

      # @param wanted [Array<Wanted>] of partitions that exist, each once
      # @return [Array<Part>] in the same order; those without a record are finished
      def parts(wanted)
        keys = wanted.map(&:key)
        @ends = @connection.ends(keys)
        @lows = @connection.beginnings(keys)
        @committed = committed(wanted.select { |one| one.start == :committed }.map(&:key))
        @begin_times = times(wanted, :start)
        @stop_times = times(wanted, :stop)
        tos = wanted.to_h { |one| [one.key, to(one)] }
        froms = froms(wanted, tos)
        wanted.map { |one| Part.new(*one.key, froms.fetch(one.key), tos.fetch(one.key)) }
      end

      private

      # A commit beyond the end of the log is of another log: the topic was re-created, truncated, or restored. One beyond an open
      # transaction isn't, and the end may have moved since it was asked for: so the log's own end is asked for after the commit.
      def committed(keys)
        found = @connection.committed(keys).compact
        beyond = found.keys.select { |key| found.fetch(key) > @ends.fetch(key) }
        return found if beyond.empty?

        ends = @connection.log_ends(beyond)
        found.reject { |key, offset| ends.key?(key) && offset > ends.fetch(key) }
      end

      # A time after the last record has no offset: the end takes its place.
      def times(wanted, name)
        asked = wanted.select { |one| one[name].is_a?(Time) }.to_h { |one| [one.key, QueryTime.ms(one[name])] }
        @connection.at(asked)
      end

      def to(wanted)
        ending = @ends.fetch(wanted.key)
        case wanted.stop
        when nil then @follow ? nil : ending
        when Time then [@stop_times.fetch(wanted.key) || ending, ending].min
        else @follow ? wanted.stop : [wanted.stop, ending].min
        end
      end

      def froms(wanted, tos)
        last = wanted.select { |one| one.start.is_a?(Last) }.to_h do |one|
          ending = tos.fetch(one.key) || @ends.fetch(one.key)
          [one.key, [@lows.fetch(one.key), [ending, @ends.fetch(one.key)].min, one.start.count]]
        end
        found = LastRecords.new(@connection).find(last)
        wanted.to_h { |one| [one.key, found[one.key] || from(one, one.start)] }
      end

      def from(wanted, start)
        low, high = @lows.fetch(wanted.key), @ends.fetch(wanted.key)
        case start
        when :earliest then low
        when :latest then high
        when :committed then from(wanted, @committed[wanted.key] || wanted.otherwise)
        when Time then @begin_times.fetch(wanted.key) || high
        else [start, low].max
        end
      end
    end
  end
end
