# frozen_string_literal: true

module Penstock
  module Runtime
    # What the client's statistics say about partitions, for consumers whose routes have `inline_insights`. Taken apart on the
    # reporter's thread, each time the client tells; read by workers; a partition that must have some is held until it has.
    #
    # What was known once stays known, also while a partition isn't fetched or after it was given up. One a connection.
    class Insights
      # Of partitions that aren't fetched the client knows nothing new.
      IDLE = %w[none stopping stopped].freeze
      NONE = {}.freeze
      private_constant :IDLE, :NONE

      # @param session [Session]
      def initialize(session)
        @session = session
        wishes = session.group.topics.filter_map { |topic| topic.features[:inline_insights] }
        @wanted = wishes.any?
        @required = wishes.any?(&:required?)
        @known = NONE
      end

      # Statistics have come.
      # @param statistics [#call] takes them apart
      def come(statistics)
        return unless @wanted
        @session.reporter.later do
          learn(statistics.call)
          @session.mailbox.wake_up if @required
        end
      end

      # @return [Hash{String => Object}] what is known of a partition; empty before there is something. Any thread
      def of(lane)
        known = @known[lane.key] or return NONE
        known.merge(lag(known, lane))
      end

      # @param lane [Processing::Lane] just assigned
      def assigned(lane)
        return unless lane.topic.features[:inline_insights]&.required?
        lane.holds.add(:insights) unless @known.key?(lane.key)
      end

      # Lets go of the partitions of which something is known by now.
      def run
        return unless @required
        @session.lanes.each_value do |lane|
          lane.holds.release(:insights) if lane.holds.include?(:insights) && @known.key?(lane.key)
        end
      end

      private

      def learn(statistics)
        fresh = statistics.fetch("topics", NONE).flat_map { |name, topic| rows(name, topic) }.to_h
        @known = @known.merge(fresh).freeze
      end

      def rows(name, topic)
        topic.fetch("partitions", NONE).filter_map do |number, row|
          [[name, number.to_i], row.freeze] unless number.to_i.negative? || IDLE.include?(row["fetch_state"])
        end
      end

      # The client doesn't know how far its application has come: nothing is stored in it.
      def lag(known, lane)
        position = lane.position
        ends = known["ls_offset"] || known["hi_offset"]
        return NONE if position.nil? || ends.nil? || ends.negative?
        {"stored_offset" => position, "consumer_lag_stored" => [ends - position, 0].max}
      end
    end
  end
end
