# frozen_string_literal: true

require_relative "option_values"

module Penstock
  module Routing
    # The topics in which delayed messages wait: one per delay, the shortest first. A message goes from one to the next until
    # it is due at its target. `prefix` begins their names, `delays` is in ms. A frozen value, one per application.
    DelayTiers = Struct.new(:prefix, :delays) do
      include FrozenStruct

      # @return [String] the consumer group that moves the messages on
      def group_id = name_of("delay")

      # @return [Array<String>] names of the topics
      def names = Array.new(delays.size) { |index| name(index + 1) }

      # @param number [Integer] from 1
      # @return [String]
      def name(number) = name_of("delay", number)

      # @return [String] the topic of messages that can't be moved on
      def dead_letter_topic = name_of("delay", "dead")

      # Selects the longest tier that isn't longer than the time left, give or take the shortest delay: what remains after a
      # hop needs no further ones, and no message waits long for one before it that leaves later.
      # @param left_ms [Integer] until the message is due
      # @return [DelayTier]
      def for(left_ms)
        tier((delays.rindex { |delay| delay - delays.first <= left_ms } || 0) + 1)
      end

      # @param number [Integer] from 1
      # @return [DelayTier]
      def tier(number) = DelayTier.new(number, name(number), delays[number - 1], self)

      # @return [Array<DelayTier>]
      def each = Array.new(delays.size) { |index| tier(index + 1) }

      private

      # Mixing dots and underscores makes metrics ambiguous.
      def name_of(*parts) = [prefix, *parts].join((prefix[/[._]/] == "_") ? "_" : ".")
    end

    # The waits of an application.
    DelayTiers::DELAYS = [1_000, 5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000].freeze

    # One of them. The value of the feature `delay_tier`, which only its topic has.
    DelayTier = Struct.new(:number, :topic, :delay_ms, :tiers) do
      include FrozenStruct

      # @return [Integer] longest wait of a record, see {Feature}
      def due_within_ms = delay_ms
    end
  end
end
