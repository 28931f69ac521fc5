# frozen_string_literal: true

require "zlib"
require_relative "outbox_rows"
require_relative "route_lookup"

module Penstock
  module Testing
    class Kit
      # Runs all routes of an example's application on an in-memory Kafka ({Memory::Runner}), which it creates when it is first
      # needed. Belongs to a {Kit}, and ends with it.
      class WholeApplication
        # @param kit [Kit]
        def initialize(kit)
          @kit = kit
          @outbox = OutboxRows.new
          @runner = nil
        end

        # @return [Memory::Runner] in which everything is that was produced before
        # @raise [ConfigurationError] settings or routes are wrong, or there is nothing to consume
        def runner
          @runner ||= begin
            require_relative "../memory/runner"
            application = @kit.tested_application
            RouteLookup.check(application)
            made = Memory::Runner.new(application, relay: @outbox.method(:relay))
            @kit.produced_messages.each { |message| made.produced(message) }
            made
          end
        end

        # @param message [ProducedMessage]
        # @return [void]
        def produced(message) = @runner&.produced(message)

        # The offsets of a transaction were committed.
        # @see Memory::Runner#offsets_committed
        def offsets_committed(rows, group) = @runner&.offsets_committed(rows, group)

        # @return [Integer, nil] virtual time, in ms since 1970; nil before the first run
        def wall_ms = @runner&.wall_ms

        # @param topic [String]
        # @return [Integer, nil] number of its partitions; nil: not known
        def partitions_of(topic) = @runner&.partitions_of(topic)

        # The partition that librdkafka's default partitioner chooses; without a key all messages go to the first one.
        # @param topic [String]
        # @param key [String, nil]
        # @return [Integer]
        def place_of(topic, key)
          count = key ? @kit.partitions_of(topic) : 1
          (count > 1) ? Zlib.crc32(key) % count : 0
        end

        # Nothing runs any more.
        # @return [void]
        def close
          @runner&.close
          @runner = nil
        end
      end
    end
  end
end
