# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # The poll loop of a subscription group and its client.
      module Connection
        TITLE = "Connection"

        STATES = {
          "starting" => "The connection is being opened.",
          "running" => "The poll loop runs.",
          "quieting" => "The poll loop gives out no new work.",
          "quiet" => "Nothing of this group runs any more.",
          "stopping" => "The group is being left.",
          "stopped" => "The connection is closed."
        }.freeze

        class << self
          def declare(catalogue)
            STATES.each do |state, description|
              catalogue.event("connection.listener.#{state}", description, optional: %i[client subscription_group])
            end
            turns(catalogue)
            client(catalogue)
            start(catalogue)
            statistics(catalogue)
          end

          private

          def turns(catalogue)
            catalogue.event("loop.slow_turn", "A turn of a poll loop took over 50 ms. It should never: user code runs " \
              "elsewhere.", :subscription_group, :stage, :stages, timed: true)
          end

          def client(catalogue)
            catalogue.event("client.reset", "A connection is closed and opened anew after an error.",
              :subscription_group)
            catalogue.event("oauthbearer.token_refresh", "A client needs an OAuth token.", :bearer)
          end

          def start(catalogue)
            catalogue.event("connection.topic", "What was found about a topic: at the start, or when it turned out missing.",
              :topic, :consumer_group_id, :exists, :partitions, optional: %i[lag start_offset committed])
            catalogue.event("connection.partition_missing", "A partition that `assign` names doesn't exist; it is read as soon " \
              "as it does.", :subscription_group, :topic, :partition, :partitions)
            catalogue.event("connection.waiting", "A group has no partition yet.", :subscription_group, :consumer_group_id,
              :topics, :waited_ms, :reason)
          end

          def statistics(catalogue)
            catalogue.event("statistics.emitted", "Statistics of a client, each `statistics.interval.ms`. Every number " \
              "comes with `<key>_d` (change since the last time) and `<key>_fd` (milliseconds without a change).",
              :statistics, optional: %i[subscription_group_id consumer_group_id group_id producer_id])
          end
        end
      end
    end
  end
end
