# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of a subscription group's poll loop and its client.
      module Connection
        TITLE = "Connection"

        STATES = {
          "starting" => "The connection is being opened.",
          "running" => "The poll loop runs.",
          "quieting" => "The poll loop hands out no new work.",
          "quiet" => "No job of this group runs any more.",
          "stopping" => "The consumer is leaving the group.",
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
            catalogue.event("poll_loop.slow", "A turn of a poll loop took over 50 ms. User code runs elsewhere, but while it " \
              "computes, Ruby's lock delays the loop by up to 100 ms for each worker. Logged as a warning from 1 s on.",
              :subscription_group, :stage, :stages, timed: true)
          end

          def client(catalogue)
            catalogue.event("client.reset", "A connection is closed and re-opened after an error.",
              :subscription_group)
            catalogue.event("oauthbearer.token_refresh", "A client needs an OAuth token.", :bearer)
          end

          def start(catalogue)
            catalogue.event("connection.topic", "The state of a topic, found at the start or when the topic turned out to be " \
              "missing.",
              :topic, :consumer_group_id, :exists, :partitions, optional: %i[lag start_offset committed])
            catalogue.event("connection.partition_missing", "A partition named by `assign` doesn't exist; it is read as soon " \
              "as it exists.", :subscription_group, :topic, :partition, :partitions)
            catalogue.event("group.no_partitions", "A group has no partition yet.", :subscription_group, :consumer_group_id,
              :topics, :waited_ms, :reason)
            catalogue.event("group.foreign_topics", "Members of the consumer group have partitions of topics that this " \
              "application's routes of the group don't name: another application uses the same group.", :subscription_group,
              :consumer_group_id, :topics, :members)
          end

          def statistics(catalogue)
            catalogue.event("statistics.emitted", "Statistics of a client, every `statistics.interval.ms`, if there was a " \
              "listener when the client was created; of partitions only those that the client is assigned. Every number has a " \
              "`<key>_d` (change since the last time) and a `<key>_fd` (milliseconds without a change).",
              :statistics, optional: %i[subscription_group_id consumer_group_id group_id producer_id])
          end
        end
      end
    end
  end
end
