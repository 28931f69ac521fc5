# frozen_string_literal: true

require_relative "../../../printable"

module Penstock
  module Runtime
    # Explains why a member of a group has no partition, and how long that can last, from the description of the group. Pure:
    # facts in, text out. A frozen value.
    class NoPartitionsReason
      # `topics`: names of the subscribed topics and patterns; `covers`: whether a topic is among them; `member_id`: ours;
      # `session_ms` and `rebalance_ms`: this process's `session.timeout.ms` (nil where the broker decides) and
      # `max.poll.interval.ms`.
      Facts = Struct.new(:topics, :covers, :member_id, :session_ms, :rebalance_ms, keyword_init: true)

      # States of a group between two assignments: those of classic groups, and those of KIP-848.
      REBALANCING = %w[PreparingRebalance CompletingRebalance Assigning Reconciling].freeze
      EMPTY = %w[Empty Dead].freeze
      private_constant :REBALANCING, :EMPTY

      # @param facts [Facts]
      # @param description [Hash, nil] of the group, as from {Admin#group_info}
      # @param error [Exception, nil] why there is no description
      def initialize(facts, description, error = nil)
        @facts = facts
        @state = description && description[:state]
        @members = description ? description[:members] : []
        @error = error
        freeze
      end

      # @return [String] one or two sentences
      def to_s
        return unknown unless @state
        return rebalancing if REBALANCING.include?(@state)
        return absent if EMPTY.include?(@state)
        return no_partitions if partitions.zero?
        (others.any? { |member| holds(member).any? }) ? all_held : waiting
      end

      private

      def unknown
        "other members hold all partitions, or the group is still rebalancing: its members can't be listed " \
          "(#{Printable.error(@error, 200)}). A process that was killed keeps its partitions until #{session} has passed"
      end

      def rebalancing
        "the group is rebalancing (#{@state}, #{count(@members.size, "member")}) and waits for members that have not rejoined: " \
          "for one that vanished at most #{session}, for one that is still busy at most its max.poll.interval.ms (here " \
          "#{seconds(@facts.rebalance_ms)})"
      end

      def session
        return "its broker's session timeout (group.consumer.session.timeout.ms)" unless @facts.session_ms
        "its session.timeout.ms (here #{seconds(@facts.session_ms)})"
      end

      def absent = "the group has no member (#{@state}): this one was removed, and joins again"

      def no_partitions
        "the group is stable, but no member has a partition of #{@facts.topics.join(", ")}: check that the topics have " \
          "partitions and that this user may read them"
      end

      def all_held
        "other members hold all partitions: #{count(@members.size, "member")} for #{count(partitions, "partition")}. This one " \
          "gets none until another leaves: add partitions, or start fewer processes"
      end

      def waiting = "the group is stable and has assigned this member its partitions: they arrive with its next heartbeat"

      def others = @members.reject { |member| member[:id] == @facts.member_id }

      def partitions = @members.sum { |member| holds(member).size }

      # Partitions of the subscribed topics.
      def holds(member) = member[:partitions].to_a.select { |topic, _partition| @facts.covers.call(topic) }

      def seconds(milliseconds) = "#{(milliseconds / 1_000.0).round} s"

      def count(number, noun) = "#{number} #{noun}#{"s" unless number == 1}"
    end
  end
end
