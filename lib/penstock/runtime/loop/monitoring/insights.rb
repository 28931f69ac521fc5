# frozen_string_literal: true

module Penstock
  module Runtime
    # Keeps the client's statistics of partitions for consumers whose routes have `inline_insights`. They are extracted on the
    # reporter's thread each time the client emits them, and read by workers; a partition that requires them is held until there
    # are some.
    #
    # Known statistics are kept, also while a partition isn't fetched or after it was revoked. One per connection.
    class Insights
      # Fetch states of partitions that aren't fetched: the client has no new statistics for them.
      IDLE = %w[none stopping stopped].freeze
      NONE = {}.freeze
      private_constant :IDLE, :NONE

      # @param connection [ConnectionState]
      def initialize(connection)
        @connection = connection
        requests = connection.group.topics.filter_map { |topic| topic.features[:inline_insights] }
        @wanted = requests.any?
        @required = requests.any?(&:required?)
        @known = NONE
      end

      # The client has emitted statistics.
      # @param statistics [#call] parses them
      def receive(statistics)
        return unless @wanted
        @connection.reporter.later do
          store(statistics.call)
          @connection.mailbox.wake_up if @required
        end
      end

      # @return [Hash{String => Object}] the partition's statistics; empty before there are any. Any thread
      def of(lane)
        known = @known[lane.key] or return NONE
        known.merge(lag(known, lane))
      end

      # @param lane [Processing::Lane] just assigned
      def assigned(lane)
        return unless lane.topic.features[:inline_insights]&.required?
        lane.holds.add(:insights) unless @known.key?(lane.key)
      end

      # Releases the partitions whose statistics are known by now.
      def run
        return unless @required
        @connection.active.to_a.each do |lane|
          lane.holds.release(:insights) if lane.holds.include?(:insights) && @known.key?(lane.key)
        end
      end

      private

      def store(statistics)
        fresh = statistics.fetch("topics", NONE).flat_map { |name, topic| rows(name, topic) }.to_h
        @known = @known.merge(fresh).freeze
      end

      def rows(name, topic)
        topic.fetch("partitions", NONE).filter_map do |number, row|
          [[name, number.to_i], row.freeze] unless number.to_i.negative? || IDLE.include?(row["fetch_state"])
        end
      end

      # Computes the lag, which the client can't: offsets aren't stored in it.
      def lag(known, lane)
        position = lane.committable_offset
        ends = known["ls_offset"] || known["hi_offset"]
        return NONE if position.nil? || ends.nil? || ends.negative?
        {"stored_offset" => position, "consumer_lag_stored" => [ends - position, 0].max}
      end
    end
  end
end
