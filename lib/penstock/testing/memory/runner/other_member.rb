# frozen_string_literal: true

require_relative "../../errors"
require_relative "../kafka/driver"

module Penstock
  module Testing
    module Memory
      class Runner
        # Another process that joins a group, takes partitions away from the application's and gives them back: a rebalance, under
        # each of the three protocols. It consumes nothing and commits nothing.
        class OtherMember
          LOOK_MS = 20
          # How long it may take to get the partitions: units are drained meanwhile.
          REBALANCE_MS = 600_000
          private_constant :LOOK_MS

          # @param world [World]
          # @param group [Kafka::Group]
          # @param keys [Array<Array(String, Integer)>] the partitions that it takes
          # @param stay [Boolean] whether it keeps them until {#leave}
          def initialize(world, group, keys, stay:)
            @world = world
            @group = group
            @keys = keys
            @stay = stay
            @gone = false
            @ends = world.timeline.now + REBALANCE_MS
            @driver = Kafka::Driver.new(world.cluster, group.id, name: "another process", waiter: self)
            group.reserve(@driver, keys)
            @driver.subscribe(keys.map(&:first).uniq)
            look_later
          end

          # @return [Boolean] whether it has all of its partitions
          def owner? = (@keys - @driver.assigned).empty?

          # @return [Boolean] whether it has left the group
          def gone? = @gone

          # Gives the partitions back.
          def leave
            @stay = false
            look_later
          end

          # Its client has an event.
          def wake(_driver) = look_later(0)

          private

          def look_later(delay_ms = LOOK_MS)
            return if @gone
            @world.timeline.after(delay_ms) { look }
          end

          def look
            return if @gone
            answer_events
            return look_again unless owner? && @group.settled?
            close unless @stay
          end

          def look_again
            return look_later if owner? || @world.timeline.now < @ends
            close
            missing = (@keys - @driver.assigned).map { |key| key.join("/") }
            raise EndlessRunError, "the rebalance doesn't end: after #{REBALANCE_MS / 1_000} s of virtual time the process " \
              "that has joined #{@group.id} doesn't have #{missing.join(", ")}"
          end

          def answer_events
            while (event = @driver.poll_event)
              keep(event[1]) if event[0] == :assign
              @driver.answer if %i[assign revoke].include?(event[0])
            end
          end

          def keep(keys) = keys.each { |key| @driver.lane(*key) }

          def close
            @gone = true
            @driver.close
          end
        end
      end
    end
  end
end
